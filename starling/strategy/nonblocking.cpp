#include "starling/strategy/nonblocking.h"

#include <algorithm>
#include <cstring>

#include "starling/core/error.h"
#include "starling/strategy/agreed_exchange.h"
#include "starling/strategy/allreduce.h"
#include "starling/strategy/averaging/agreed_graph.h"
#include "starling/strategy/averaging/group_averaging.h"
#include "starling/strategy/averaging/neighbour_exchange.h"
#include "starling/strategy/batch/piece_size.h"
#include "starling/strategy/dpsgd.h"
#include "starling/strategy/matcha.h"

namespace starling::strategy {

// The work of all workers in a step. Sums, which are the same on all workers.
struct NonBlocking::StepTotals {
  double workers = 0;  // that take part
  double with_samples = 0;
  double pieces = 0;
  double samples = 0;
  double leaders = 0;       // workers that think that they are the lowest one
  double leaders_rate = 0;  // their learning rates
  double rates = 0;         // of all samples

  // Workers at different places of their data may have different rates. It is the lowest worker's; or the
  // mean over the samples, in a step in which that worker is lost.
  double learning_rate() const { return leaders == 1 ? leaders_rate : rates / samples; }
};

// Adds up what the workers have done, so that all know how much each gradient weighs.
class NonBlocking::TotalsExchange {
 public:
  TotalsExchange(Worker& self, AgreedExchange& agreed)
      : self_(self),
        agreed_(agreed),
        buffer_(self.allocate_numbers(2 * kNumbers)),
        numbers_(buffer_.data.bytes, kNumbers, DType::kFloat64) {}

  Task<StepTotals> of_step() {
    const StepTotals own = of_worker();
    std::memcpy(numbers_.bytes, &own, sizeof own);
    co_await agreed_.noted_all_reduce(Channel::kTerms, self_.step(), numbers_, collective::Reduction::sum());
    StepTotals all;
    std::memcpy(&all, numbers_.bytes, sizeof all);
    co_return all;
  }

 private:
  static constexpr std::size_t kNumbers = 7;
  static_assert(sizeof(StepTotals) == kNumbers * sizeof(double));

  StepTotals of_worker() {
    const auto samples = static_cast<double>(self_.samples());
    Rank lowest = 0;
    while (self_.lost(lowest)) ++lowest;
    const bool leads = lowest == self_.rank();
    return {.workers = 1,
            .with_samples = samples > 0 ? 1.0 : 0.0,
            .pieces = static_cast<double>(self_.pieces()),
            .samples = samples,
            .leaders = leads ? 1.0 : 0.0,
            .leaders_rate = leads ? self_.learning_rate() : 0,
            .rates = samples * self_.learning_rate()};
  }

  Worker& self_;
  AgreedExchange& agreed_;
  Buffer buffer_;
  collective::Data numbers_;
};

namespace {

// Beside a sample this vanishes in rounding; where nobody has any there is still a mean.
constexpr double kNoWeight = 1e-30;

StepEnd::Late late_of(const std::string& name) {
  if (name == "drop") return StepEnd::Late::kDrop;
  return name == "finish" ? StepEnd::Late::kFinish : StepEnd::Late::kAvoid;
}

// Pieces that may be computed together: fine enough for a worker that is 32 times slower.
constexpr int kFinePieces = 32;

StepEnd::Rules rules_of(const Options& options, int workers) {
  StepEnd::Rules rules;
  const bool alone = workers == 1;  // nobody else ends its steps
  rules.several = !alone && options.text("pieces") == "auto";
  rules.pieces = rules.several ? kFinePieces : static_cast<int>(options.integer("pieces"));
  if (alone) rules.pieces = 1;
  rules.trigger = parse_trigger(options.text("trigger"), "strategy nonblocking, option trigger");
  rules.late = late_of(options.text("late"));
  return rules;
}

void scale(Data gradient, double factor) {
  if (gradient.ghost() || factor == 1) return;
  for (float& element : floats(gradient)) element *= static_cast<float>(factor);
}

}  // namespace

NonBlocking::NonBlocking(const Options& options, int workers)
    : base_(base_of(options)),
      rules_(rules_of(options, workers)),
      algorithm_(algorithm_of(options)),
      weigh_workers_(options.text("weights") == "workers"),
      by_pieces_(options.text("scale") == "pieces"),
      graph_(graph_of(base_, options, workers)) {
  if (base_ == Base::kDpsgd) rule_ = std::make_unique<MetropolisRule>();
  if (base_ == Base::kMatcha) rule_ = std::make_unique<MatchaRule>(graph_, options.number("budget"));
  // Everybody may be invited: a worker that is called comes soon.
  groups_.size = static_cast<std::size_t>(options.integer("group-size"));
  groups_.lateness = 0;
  groups_.calls = true;
}

NonBlocking::Base NonBlocking::base_of(const Options& options) {
  const std::string& name = options.text("base");
  if (name == "dpsgd") return Base::kDpsgd;
  if (name == "matcha") return Base::kMatcha;
  return name == "ripples" ? Base::kRipples : Base::kRing;
}

coordination::Graph NonBlocking::graph_of(Base base, const Options& options, int workers) {
  if (base == Base::kRing || base == Base::kRipples) return {workers, {}};
  const std::string& graph = options.text("graph");
  if (graph != "auto") return coordination::make_graph(graph, workers);
  return coordination::make_graph(base == Base::kMatcha ? "exponential" : "ring", workers);
}

// All have the same share: 1, with which the bits are those of a plain mean.
double NonBlocking::weight_in(const StepTotals& all, const Worker& self) const {
  const auto samples = static_cast<double>(self.samples());
  if (samples == 0) return kNoWeight;
  return weigh_workers_ ? 1 : samples * all.with_samples / all.samples;
}

Task<> NonBlocking::run(Worker& self) const {
  if (base_ == Base::kRing) return run_on_ring(self);
  return base_ == Base::kRipples ? run_in_groups(self) : run_on_graph(self);
}

Task<> NonBlocking::run_on_ring(Worker& self) const {
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
    self.set_learning_rate(all.learning_rate());
    co_await self.update();
  }
  co_await agreed.finish();
}

// The models of a step travel while it is computed, as in run_dpsgd().
Task<> NonBlocking::run_on_graph(Worker& self) const {
  const std::unique_ptr<MixingRule> rule = rule_->copy();
  AgreedGraph graphs(self, graph_);
  NeighbourExchange exchange(self, graphs, *rule);
  StepEnd end(self, rules_, &exchange);
  for (;;) {
    co_await graphs.begin(self.step() + 1);
    const bool more = co_await self.compute(end.plan());
    if (!more) co_return;
    end.computed();
    co_await exchange.finish();
    co_await self.parameters_free();
    exchange.mix();
    co_await update_alone(self);
  }
}

// A worker that pauses, or ends, first runs the groups that it is in.
Task<> NonBlocking::run_in_groups(Worker& self) const {
  GroupAveraging averaging(self, join_groups(self, groups_), false);
  const std::vector<Data> models{self.parameters()};
  PieceSize size(rules_.pieces);
  StepPlan plan;
  plan.pieces = rules_.pieces;
  plan.stop = [&averaging] { return averaging.called(); };
  if (rules_.several) plan.together = [&] { return size.next_pass(self.now(), self.pieces()); };
  for (;;) {
    size.step_begins(self.now());
    const bool more = co_await self.compute(plan);
    if (!more) break;
    size.step_ends(self.now(), self.pieces(), averaging.called());
    co_await update_alone(self);
    co_await averaging.synchronise(models);
    if (self.rests_next()) co_await averaging.leave(models);
  }
  co_await averaging.leave(models);
}

// With the mean over the worker's own samples, if it has any.
Task<> NonBlocking::update_alone(Worker& self) const {
  if (self.samples() == 0) co_return;
  if (by_pieces_) scale(self.gradients(), static_cast<double>(self.pieces()) / rules_.pieces);
  co_await self.update();
}

StrategyEntry nonblocking_row() {
  return {
      .name = "nonblocking",
      .summary = "a step ends when the first worker has finished its batch: the others use what they have",
      .options =
          {OptionSpec::choice("base", {"ring", "dpsgd", "matcha", "ripples"},
                              "ring: gradients are averaged among all; the others: models are, as in the "
                              "strategy of that name"),
           OptionSpec::integer(
               "pieces", 8, 1, 4096,
               "pieces of a batch; auto: 32, of which each worker computes as many in one pass "
               "as pays")
               .or_word("auto"),
           OptionSpec::text("trigger", "first",
                            "what ends a step: first, quorum:WORKERS that have finished, deadline:TIME, "
                            "all: that everybody has")
               .with("base=ring|dpsgd|matcha"),
           OptionSpec::choice("late", {"avoid", "finish", "drop"},
                              "the piece that is under way when the step ends; avoid: is not begun if it "
                              "is expected to cost more than it brings; drop: is computed again in the "
                              "next step")
               .with("base=ring|dpsgd|matcha"),
           OptionSpec::choice("weights", {"samples", "workers"},
                              "of gradients in the mean: by samples used, or equal")
               .with("base=ring"),
           OptionSpec::choice("scale", {"none", "pieces"},
                              "pieces: the gradient is multiplied by the share of the pieces that were "
                              "used"),
           OptionSpec::text("graph", "auto",
                            "as for the base; auto: ring with dpsgd, exponential with matcha")
               .with("base=dpsgd|matcha"),
           budget_option().with("base=matcha"),
           OptionSpec::integer("group-size", 2, 2, 1'000'000, "members of a group").with("base=ripples"),
           algorithm_option().with("base=ring")},
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .needs_all = true,
                   .conserves_mean = true,
                   .staleness = "0",
                   .steps = "all workers make the same number; with base=ripples each makes its own",
                   .waits_for = "the fastest worker, and one piece of the slowest, every step; with "
                                "base=ripples one piece of the members of its group",
                   .bytes = "those of the base: `allreduce`, `dpsgd`, `matcha`, `ripples`"},
      .make = make<NonBlocking>,
      .bytes_sent = [](const Options&, const Shape&, Rank) { return std::optional<std::uint64_t>(); },
      .equal_models = [](const Options& options) { return options.text("base") == "ring"; },
      .variants = {{},
                   {{"pieces", "1"}},
                   {{"pieces", "3"}, {"trigger", "quorum:2"}, {"scale", "pieces"}},
                   {{"trigger", "deadline:120ms"}, {"weights", "workers"}},
                   {{"trigger", "all"}},
                   {{"pieces", "auto"}},
                   {{"pieces", "auto"}, {"late", "drop"}},
                   {{"late", "finish"}},
                   {{"late", "drop"}},
                   {{"late", "drop"}, {"trigger", "deadline:120ms"}},
                   {{"base", "dpsgd"}},
                   {{"base", "dpsgd"}, {"late", "drop"}, {"graph", "exponential"}},
                   {{"base", "matcha"}},
                   {{"base", "ripples"}},
                   {{"base", "ripples"}, {"pieces", "auto"}},
                   {{"base", "ripples"}, {"pieces", "3"}, {"group-size", "3"}}},
  };
}

}  // namespace starling::strategy
