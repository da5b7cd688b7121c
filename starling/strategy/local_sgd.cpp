#include "starling/strategy/local_sgd.h"

#include <algorithm>
#include <cmath>

#include "starling/strategy/allreduce.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

using collective::Reduction;

std::uint64_t adacomm_period(std::uint64_t first_period, std::uint64_t period, double first_loss,
                             double loss) {
  const double ratio = loss / first_loss;
  if (!std::isfinite(ratio) || ratio < 0) return period;  // no losses, as in a replay
  const double wanted = std::ceil(static_cast<double>(first_period) * std::sqrt(ratio));
  if (wanted < static_cast<double>(period))
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  return (period + 1) / 2;
}

// A worker's progress; the period is the same on all, because all see the same mean loss. Part of
// checkpoints.
struct LocalSgd::Progress {
  std::uint64_t period = 0;
  std::uint64_t alone = 0;     // steps since the last average
  std::uint64_t averages = 0;  // so far
  double losses = 0;           // sum since the last check
  std::uint64_t count = 0;     // of these losses
  std::uint64_t checks = 0;
  double first_loss = 0;  // of the first check
};

// After an average.
Task<> LocalSgd::adapt(Worker& self, Progress& now, AgreedExchange& agreed) const {
  ++now.averages;
  if (!adaptive_ || now.averages % check_ != 0) co_return;
  // A worker that had no samples all the while has no loss and nearly no weight.
  double loss = now.count > 0 ? now.losses / static_cast<double>(now.count) : 0;
  const double steps = self.equal_batches() ? 1 : static_cast<double>(now.count);
  const double weight = now.count > 0 ? steps : 1e-30;
  const bool plain = self.equal_batches() && !self.skips_steps();
  const Reduction how = plain ? Reduction::mean() : Reduction::weighted_mean(weight);
  const Data one(reinterpret_cast<std::byte*>(&loss), 1, DType::kFloat64);
  co_await agreed.noted_all_reduce(Channel::kLoss, now.averages, one, how);
  if (now.checks > 0) now.period = adacomm_period(period_, now.period, now.first_loss, loss);
  if (now.checks == 0) now.first_loss = loss;
  ++now.checks;
  now.losses = 0;
  now.count = 0;
}

LocalSgd::LocalSgd(const Options& options, int)
    : algorithm_(algorithm_of(options)),
      period_(static_cast<std::uint64_t>(options.integer("period"))),
      adaptive_(options.text("adapt") == "adacomm"),
      check_(static_cast<std::uint64_t>(options.integer("check"))) {}

Task<> LocalSgd::run(Worker& self) const {
  AgreedExchange agreed(self, algorithm_);
  const auto average = [&] {
    return agreed.noted_all_reduce(Channel::kModel, self.step(), self.parameters(), Reduction::mean(),
                                   algorithm_);
  };
  Progress now{.period = period_};
  self.keep("local-sgd", bytes_of(now));
  while (co_await self.compute()) {
    if (self.samples() > 0) {
      co_await self.update();
      now.losses += self.loss();
      ++now.count;
    }
    if (++now.alone < now.period) continue;
    co_await average();
    co_await adapt(self, now, agreed);
    now.alone = 0;
  }
  // The run ends with one model.
  if (now.alone > 0) co_await average();
  co_await agreed.finish();
}

StrategyEntry local_sgd_row() {
  return {
      .name = "local-sgd",
      .summary = "workers train alone for some steps, then all models are averaged",
      .options = {OptionSpec::integer("period", 10, 1, 1'000'000, "local steps between two averages"),
                  OptionSpec::choice("adapt", {"none", "adacomm"},
                                     "adacomm: shorten the period as the loss falls"),
                  OptionSpec::integer("check", 5, 1, 1'000'000, "averages between two looks at the loss")
                      .with("adapt=adacomm"),
                  algorithm_option()},
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .needs_all = true,
                   .conserves_mean = true,
                   .staleness = "0; models differ for up to `period` steps",
                   .waits_for = "the slowest worker, every `period` steps",
                   .bytes = "2 M (n-1)/(n period) with ring or halving"},
      .make = make<LocalSgd>,
      .bytes_sent = [](const Options& options, const Shape& shape,
                       Rank rank) -> std::optional<std::uint64_t> {
        if (options.text("adapt") != "none") return {};  // depends on the losses
        const auto period = static_cast<std::uint64_t>(options.integer("period"));
        const auto once = all_reduce_bytes(options, shape.workers, shape.elements, rank);
        return once ? std::optional((shape.steps + period - 1) / period * *once) : std::nullopt;
      },
      .equal_models = [](const Options& options) { return options.integer("period") == 1; },
      .variants = {{}, {{"period", "1"}}, {{"period", "7"}, {"adapt", "adacomm"}, {"check", "2"}}},
  };
}

}  // namespace starling::strategy
