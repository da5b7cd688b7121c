#include "starling/strategy/nonblocking.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/strategy/agreed_exchange.h"
#include "starling/strategy/allreduce.h"

namespace starling::strategy {

// The work of all workers in a step.
struct NonBlocking::StepTotals {
  double workers = 1;  // that take part
  double with_samples = 1;
  double pieces = 1;
  double samples = 1;
};

// Adds up what the workers have done, so that all know how much each gradient weighs.
class NonBlocking::TotalsExchange {
 public:
  TotalsExchange(Worker& self, AgreedExchange& agreed)
      : self_(self), agreed_(agreed), buffer_(self.allocate(kNumbers)) {}

  Task<StepTotals> of_step() {
    const Data numbers = buffer_.data;
    if (!numbers.ghost()) {
      const auto samples = static_cast<float>(self_.samples());
      const float own[kNumbers] = {1, samples > 0 ? 1.0F : 0.0F, static_cast<float>(self_.pieces()), samples};
      std::ranges::copy(own, floats(numbers).begin());
    }
    co_await agreed_.noted_all_reduce(Channel::kTerms, self_.step(), numbers, collective::Reduction::sum());
    if (numbers.ghost()) co_return StepTotals{};
    const std::span<const float> all = floats(numbers);
    co_return StepTotals{all[0], all[1], all[2], all[3]};
  }

 private:
  static constexpr std::size_t kNumbers = 4;
  Worker& self_;
  AgreedExchange& agreed_;
  Buffer buffer_;
};

namespace {

// Beside a sample this vanishes in rounding; where nobody has any there is still a mean.
constexpr double kNoWeight = 1e-30;

StepEnd::Late late_of(const std::string& name) {
  if (name == "drop") return StepEnd::Late::kDrop;
  return name == "finish" ? StepEnd::Late::kFinish : StepEnd::Late::kAvoid;
}

void scale(Data gradient, double factor) {
  if (gradient.ghost() || factor == 1) return;
  for (float& element : floats(gradient)) element *= static_cast<float>(factor);
}

}  // namespace

// Alone, a worker has nobody to end its steps.
NonBlocking::NonBlocking(const Options& options, int workers)
    : rules_{.pieces = workers > 1 ? static_cast<int>(options.integer("pieces")) : 1,
             .trigger = parse_trigger(options.text("trigger"), "strategy nonblocking, option trigger"),
             .late = late_of(options.text("late"))},
      algorithm_(algorithm_of(options)),
      weigh_workers_(options.text("weights") == "workers"),
      by_pieces_(options.text("scale") == "pieces") {}

// All have the same share: 1, with which the bits are those of a plain mean.
double NonBlocking::weight_in(const StepTotals& all, const Worker& self) const {
  const auto samples = static_cast<double>(self.samples());
  if (samples == 0) return kNoWeight;
  return weigh_workers_ ? 1 : samples * all.with_samples / all.samples;
}

Task<> NonBlocking::run(Worker& self) const {
  AgreedExchange agreed(self, algorithm_);
  TotalsExchange totals(self, agreed);
  StepEnd end(self, rules_);
  while (co_await self.compute(end.plan())) {
    end.computed();
    const StepTotals all = co_await totals.of_step();
    if (all.samples == 0) continue;  // the data are over, or no gradient is finite
    co_await agreed.noted_all_reduce(Channel::kGradients, self.step(), self.gradients(),
                                     collective::Reduction::weighted_mean(weight_in(all, self)), algorithm_);
    if (by_pieces_) scale(self.gradients(), all.pieces / (all.workers * rules_.pieces));
    co_await self.update();
  }
  co_await agreed.finish();
}

StrategyEntry nonblocking_row() {
  return {
      .name = "nonblocking",
      .summary = "synchronous SGD that ends a step when the first worker has finished its batch",
      .options =
          {OptionSpec::integer("pieces", 8, 1, 4096, "pieces of a batch"),
           OptionSpec::text("trigger", "first",
                            "what ends a step: first, quorum:WORKERS that have finished, deadline:TIME, "
                            "all: that everybody has"),
           OptionSpec::choice("late", {"avoid", "finish", "drop"},
                              "the piece that is under way when the step ends; avoid: is not begun if it "
                              "is expected to cost more than it brings; drop: is computed again in the "
                              "next step"),
           OptionSpec::choice("weights", {"samples", "workers"},
                              "of gradients in the mean: by samples used, or equal"),
           OptionSpec::choice("scale", {"none", "pieces"},
                              "pieces: the gradient is multiplied by the share of the pieces that were "
                              "used"),
           algorithm_option()},
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .needs_all = true,
                   .conserves_mean = true,
                   .staleness = "0",
                   .waits_for = "the fastest worker, and one piece of the slowest, every step",
                   .bytes = "2 M (n-1)/n with ring or halving, M log2 n with doubling"},
      .make = make<NonBlocking>,
      .bytes_sent = [](const Options&, const Shape&, Rank) { return std::optional<std::uint64_t>(); },
      .equal_models = [](const Options&) { return true; },
      .variants = {{},
                   {{"pieces", "1"}},
                   {{"pieces", "3"}, {"trigger", "quorum:2"}, {"scale", "pieces"}},
                   {{"trigger", "deadline:120ms"}, {"weights", "workers"}},
                   {{"trigger", "all"}},
                   {{"late", "finish"}},
                   {{"late", "drop"}},
                   {{"late", "drop"}, {"trigger", "deadline:120ms"}}},
  };
}

}  // namespace starling::strategy
