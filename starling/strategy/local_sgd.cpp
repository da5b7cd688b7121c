#include "starling/strategy/local_sgd.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "starling/core/error.h"
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
  double samples = 0;          // the same
  std::uint64_t averages = 0;  // so far
  double losses = 0;           // sum since the last check
  std::uint64_t count = 0;     // of these losses
  std::uint64_t checks = 0;
  double first_loss = 0;  // of the first check
};

// Of a run.
struct LocalSgd::Parts {
  Worker& self;
  AgreedExchange& agreed;
  FragmentAverage& average;
  Progress& now;
};

namespace {

FragmentRules fragment_rules(const Options& options) {
  return {.fragments = static_cast<std::size_t>(options.integer("fragments")),
          .delay = static_cast<std::uint64_t>(options.integer("delay")),
          .mix = options.number("mix"),
          .outer = outer_rule(options),
          .algorithm = algorithm_of(options),
          .compression = compression_rules(options, "local-sgd", "compress")};
}

}  // namespace

// After an average.
Task<> LocalSgd::adapt(Parts& parts) const {
  auto& [self, agreed, average, now] = parts;
  ++now.averages;
  if (!adaptive_ || now.averages % check_ != 0) co_return;
  // A worker that had no samples all the while has no loss and nearly no weight.
  double loss = now.count > 0 ? now.losses / static_cast<double>(now.count) : 0;
  const double steps = self.equal_batches() ? 1 : static_cast<double>(now.count);
  const double weight = now.count > 0 ? steps : 1e-30;
  const bool plain = self.equal_batches() && !self.skips_steps() && !by_speed_;
  const Reduction how = plain ? Reduction::mean() : Reduction::weighted_mean(weight);
  const Data one(reinterpret_cast<std::byte*>(&loss), 1, DType::kFloat64);
  co_await agreed.noted_all_reduce(Channel::kLoss, now.averages, one, how);
  if (now.checks > 0) now.period = adacomm_period(period_, now.period, now.first_loss, loss);
  if (now.checks == 0) now.first_loss = loss;
  ++now.checks;
  now.losses = 0;
  now.count = 0;
}

LocalSgd::LocalSgd(const Options& options, int workers)
    : rules_(fragment_rules(options)),
      period_(static_cast<std::uint64_t>(options.integer("period"))),
      adaptive_(options.text("adapt") == "adacomm"),
      check_(static_cast<std::uint64_t>(options.integer("check"))),
      by_speed_(options.text("period-by") == "speed"),
      balance_(balance_rules(options, "local-sgd", workers)) {
  if (balance_.by_speed && rules_.delay > 0) {
    throw InvalidArgument(
        concat("strategy local-sgd, option delay: ", rules_.delay,
               "; allowed with balance=speed: 0, since the weights of a mean are known at the "
               "end of a window"));
  }
  if (rules_.compression && rules_.delay > 0) {
    throw InvalidArgument(
        concat("strategy local-sgd, option delay: ", rules_.delay,
               "; allowed with compress: 0, since codes are not exchanged beside the steps"));
  }
  if (by_speed_ && rules_.delay > 0) {
    throw InvalidArgument(concat("strategy local-sgd, option delay: ", rules_.delay,
                                 "; allowed with period-by=speed: 0, since a round has no step that all "
                                 "workers make"));
  }
  if (adaptive_ && (rules_.fragments > 1 || rules_.delay > 0)) {
    throw InvalidArgument(
        "strategy local-sgd, option adapt: adacomm changes the period; allowed with it: fragments 1, delay "
        "0");
  }
  if (period_ % rules_.fragments != 0) {
    throw InvalidArgument(concat("strategy local-sgd, option fragments: ", rules_.fragments,
                                 "; allowed: divisors of the period, which is ", period_));
  }
  if (rules_.delay >= window(period_)) {
    throw InvalidArgument(concat("strategy local-sgd, option delay: ", rules_.delay,
                                 "; allowed: less than period / fragments, which is ", window(period_)));
  }
}

Task<> LocalSgd::run(Worker& self) const {
  AgreedExchange agreed(self, rules_.compression ? kCodedAlgorithm : rules_.algorithm);
  FragmentAverage average(self, agreed, co_await runtime::this_context(), rules_);
  Progress now{.period = period_};
  self.keep("local-sgd", bytes_of(now));
  Parts parts{self, agreed, average, now};
  if (by_speed_) {
    co_await rounds_by_speed(parts);
  } else {
    co_await rounds_by_steps(parts);
  }
  co_await agreed.finish();
}

Task<> LocalSgd::update(Parts& parts) const {
  ++parts.now.alone;
  if (parts.self.samples() == 0) co_return;
  co_await parts.self.update();
  parts.now.losses += parts.self.loss();
  ++parts.now.count;
}

Task<> LocalSgd::rounds_by_steps(Parts& parts) const {
  auto& [self, agreed, average, now] = parts;
  BatchBalance balance(self, agreed, balance_);
  StepPlan plan;
  if (rules_.delay > 0) plan.listener = &average;
  for (;;) {
    balance.plan(plan);
    const bool more = co_await self.compute(plan);
    if (!more) break;
    average.computed();
    now.samples += static_cast<double>(self.samples());
    co_await update(parts);
    co_await balance.step_computed();
    if (rules_.delay > 0 && now.alone + rules_.delay == window(now.period)) average.begin();
    if (now.alone < window(now.period)) continue;
    co_await average.finish(mean_by(now.samples));
    co_await adapt(parts);
    now.alone = 0;
    now.samples = 0;
  }
  if (now.alone > 0 || rules_.stream()) co_await average.make_one_model(mean_by(now.samples));
}

// With batches in proportion to speed models weigh in proportion to their samples, so that a period of 1 is
// synchronous SGD.
Reduction LocalSgd::mean_by(double samples) const {
  return balance_.by_speed ? Reduction::weighted_mean(std::max(samples, 1e-30)) : Reduction::mean();
}

// The steps of a round, or fewer if the worker is to rest after them or has no more.
Task<RoundLength::Next> LocalSgd::own_steps(Parts& parts, RoundLength& length) const {
  auto& [self, agreed, average, now] = parts;
  for (now.alone = 0; now.alone < length.steps(window(now.period));) {
    const bool more = co_await self.compute();
    if (!more) co_return RoundLength::Next::kOver;
    const Time before = self.now();
    co_await update(parts);
    length.count_step(self.now() - before);
    if (self.rests_next()) co_return RoundLength::Next::kRest;
  }
  co_return RoundLength::Next::kSteps;
}

Task<> LocalSgd::rounds_by_speed(Parts& parts) const {
  using Next = RoundLength::Next;
  RoundLength length(parts.self, parts.agreed, rules_.fragments);
  Next next = Next::kSteps;
  RoundLength::End round;
  while (!round.all_over) {
    const bool waits = next == Next::kOver || (next == Next::kRest && round.anyone_steps);
    if (!waits) next = co_await own_steps(parts, length);
    round = co_await length.meet(next);
    if (!round.changed || round.all_over) continue;
    co_await parts.average.finish(length.mean(round));
    co_await adapt(parts);
  }
  if (round.changed || rules_.stream()) co_await parts.average.make_one_model(length.mean(round));
}

namespace {

std::vector<OptionSpec> options_of_local_sgd() {
  std::vector<OptionSpec> options{
      OptionSpec::integer("period", 10, 1, 1'000'000, "local steps between two averages"),
      OptionSpec::choice("period-by", {"steps", "speed"},
                         "steps: all workers make `period` steps; speed: the fastest one does, slower ones "
                         "fewer"),
      OptionSpec::choice("adapt", {"none", "adacomm"}, "adacomm: shorten the period as the loss falls"),
      OptionSpec::integer("check", 5, 1, 1'000'000, "averages between two looks at the loss")
          .with("adapt=adacomm")};
  for (OptionSpec& option : outer_options()) options.push_back(std::move(option));
  options.push_back(OptionSpec::integer("fragments", 1, 1, 1000, "parts of the model, averaged in turn")
                        .with("outer=slowmo|nesterov"));
  options.push_back(OptionSpec::integer("delay", 0, 0, 999'999, "steps that an average may take")
                        .with("outer=slowmo|nesterov"));
  options.push_back(
      OptionSpec::number("mix", "0", 0, 1, "share of a worker's own model that stays after an average")
          .with("outer=slowmo|nesterov"));
  options.push_back(algorithm_option());
  options.push_back(compression_option("compress", "changes of the model"));
  options.push_back(feedback_option());
  return balanced(std::move(options), "period-by=steps");
}

}  // namespace

StrategyEntry local_sgd_row() {
  return {
      .name = "local-sgd",
      .summary = "workers train alone for some steps, then all models are averaged",
      .options = options_of_local_sgd(),
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .needs_all = true,
                   .conserves_mean = true,
                   .staleness = "0; models differ for up to `period` steps",
                   .steps = "all workers make the same number; with period-by=speed each its own",
                   .waits_for =
                       "the slowest worker, every `period` steps; with period-by=speed for less than "
                       "one of its steps",
                   .bytes = "2 M (n-1)/(n period) with ring or halving; less with `compress`"},
      .make = make<LocalSgd>,
      .bytes_sent = [](const Options& options, const Shape& shape,
                       Rank rank) -> std::optional<std::uint64_t> {
        if (options.text("adapt") != "none") return {};       // depends on the losses
        if (options.text("period-by") == "speed") return {};  // depends on the times
        if (options.text("balance") == "speed") return {};
        if (options.text("compress") != "none") return {};  // depends on the sections
        if (options.integer("fragments") > 1 || options.integer("delay") > 0 || options.number("mix") > 0)
          return {};  // depends on the sections
        const auto period = static_cast<std::uint64_t>(options.integer("period"));
        const auto once = all_reduce_bytes(options, shape.workers, shape.elements, rank);
        return once ? std::optional((shape.steps + period - 1) / period * *once) : std::nullopt;
      },
      .equal_models =
          [](const Options& options) {
            return options.integer("period") == 1 && options.number("mix") == 0 &&
                   options.text("period-by") == "steps";
          },
      .moves_models =
          [](const Options& options) {
            return outer_rule(options).has_value() || options.text("balance") == "speed" ||
                   options.text("compress") != "none";
          },
      .variants =
          {{},
           {{"period", "1"}},
           {{"period", "7"}, {"adapt", "adacomm"}, {"check", "2"}},
           {{"period", "5"}, {"outer", "slowmo"}},
           {{"period", "4"}, {"period-by", "speed"}},
           {{"period", "6"}, {"period-by", "speed"}, {"adapt", "adacomm"}, {"check", "2"}},
           {{"period", "4"},
            {"period-by", "speed"},
            {"outer", "nesterov"},
            {"fragments", "2"},
            {"mix", "0.5"}},
           {{"period", "1"}, {"outer", "nesterov"}},
           {{"period", "3"}, {"balance", "speed"}},
           {{"period", "2"}, {"compress", "topk:0.2"}},
           {{"period", "1"}, {"compress", "fp16"}},
           {{"period", "4"}, {"outer", "nesterov"}, {"fragments", "2"}, {"compress", "topk:0.2+int4"}},
           {{"period", "6"}, {"outer", "nesterov"}, {"fragments", "2"}, {"delay", "1"}, {"mix", "0.5"}}},
  };
}

}  // namespace starling::strategy
