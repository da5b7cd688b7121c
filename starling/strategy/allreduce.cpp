#include "starling/strategy/allreduce.h"

#include <chrono>

#include "starling/collective/cost.h"
#include "starling/collective/select.h"
#include "starling/strategy/agreed_exchange.h"
#include "starling/strategy/compressed/compressed_mean.h"
#include "starling/strategy/schedule/ddp_schedule.h"
#include "starling/strategy/schedule/horovod_schedule.h"
#include "starling/strategy/schedule/mgwfbp_schedule.h"
#include "starling/strategy/schedule/priority_schedule.h"
#include "starling/strategy/schedule/schedule_options.h"

namespace starling::strategy {

namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;

// The defaults of the systems that the schedules are named after.
std::size_t usual_fusion(const std::string& schedule) {
  if (schedule == "wfbp") return 1;
  if (schedule == "horovod") return 128 * kMega;
  return schedule == "priority" ? 4 * kMega : 25 * kMega;
}

}  // namespace

AllReduce::AllReduce(const Options& options, int workers)
    : schedule_(options.text("schedule")),
      first_(options.size("first").value_or(1)),
      cycle_(std::chrono::duration_cast<Duration>(
          std::chrono::duration<double, std::milli>(options.number("cycle")))),
      balance_(balance_rules(options, "allreduce", workers)),
      compression_(compression_rules(options, "allreduce", "compress")) {
  transfers_.window = static_cast<int>(options.integer("window"));
  transfers_.algorithm = algorithm_of(options);
  transfers_.fusion = fusion_of(options, usual_fusion(schedule_));
}

Task<> AllReduce::run(Worker& self) const {
  const runtime::Context& context = co_await runtime::this_context();
  AgreedExchange agreed(self, compression_ ? kCodedAlgorithm : transfers_.algorithm);
  if (compression_) {
    co_await run_coded(self, agreed);
  } else if (schedule_ == "none") {
    co_await run_whole(self, agreed);
  } else if (schedule_ == "priority") {
    PrioritySchedule schedule(self, agreed, transfers_, context);
    co_await run_on(self, schedule, agreed);
  } else if (schedule_ == "horovod") {
    HorovodSchedule schedule(self, agreed, transfers_, cycle_, context);
    co_await run_and_wait(self, schedule, agreed);
  } else if (schedule_ == "mgwfbp") {
    MgwfbpSchedule schedule(self, agreed, transfers_, first_, context);
    co_await run_and_wait(self, schedule, agreed);
  } else {
    DdpSchedule schedule(self, agreed, transfers_, first_, context);
    co_await run_and_wait(self, schedule, agreed);
  }
  co_await agreed.finish();
}

Task<> AllReduce::run_whole(Worker& self, AgreedExchange& agreed) const {
  BatchBalance balance(self, agreed, balance_);
  StepPlan plan;
  for (;;) {
    balance.plan(plan);
    const bool more = co_await self.compute(plan);
    if (!more) co_return;
    co_await agreed.noted_all_reduce(Channel::kGradients, self.step(), self.gradients(), over_samples(self),
                                     transfers_.algorithm);
    co_await self.update();
    co_await balance.step_computed();
  }
}

Task<> AllReduce::run_coded(Worker& self, AgreedExchange& agreed) const {
  BatchBalance balance(self, agreed, balance_);
  CompressedMean mean(self, agreed, compression_, layout_of(self.sections()));
  StepPlan plan;
  for (;;) {
    balance.plan(plan);
    const bool more = co_await self.compute(plan);
    if (!more) co_return;
    co_await mean.of(self.gradients(), weight_of_gradient(self));
    co_await self.update();
    co_await balance.step_computed();
  }
}

Task<> AllReduce::run_and_wait(Worker& self, BucketSchedule& schedule, AgreedExchange& agreed) const {
  BatchBalance balance(self, agreed, balance_);
  StepPlan plan;
  plan.listener = &schedule;
  for (;;) {
    balance.plan(plan);
    const bool more = co_await self.compute(plan);
    if (!more) co_return;
    co_await schedule.settle();
    co_await self.update();
    co_await balance.step_computed();
  }
}

Task<> AllReduce::run_on(Worker& self, BucketSchedule& schedule, AgreedExchange& agreed) const {
  BatchBalance balance(self, agreed, balance_);
  StepPlan plan;
  plan.listener = &schedule;
  for (;;) {
    balance.plan(plan);
    const bool more = co_await self.compute(plan);
    if (!more) break;
    co_await balance.step_computed();
  }
  co_await schedule.settle();
}

OptionSpec algorithm_option() {
  return OptionSpec::choice("algorithm", {"auto", "ring", "halving", "doubling", "hierarchical"},
                            "algorithm of the all-reduce; auto: by size, number of workers and hosts");
}

collective::Choice algorithm_of(const Options& options) {
  const std::string& name = options.text("algorithm");
  if (name == "auto") return {};
  return collective::parse_algorithm(name, "algorithm");
}

std::optional<std::uint64_t> all_reduce_bytes(const Options& options, int workers, std::size_t elements,
                                              Rank rank) {
  using collective::Algorithm;
  if (workers == 1) return 0;
  const auto members = static_cast<std::size_t>(workers);
  const Algorithm algorithm = algorithm_of(options).value_or(
      collective::Selection::hosts().choose(elements * sizeof(float), members));
  if (algorithm == Algorithm::kHierarchical) return {};  // depends on which workers share a host
  const collective::Call call{.algorithm = algorithm, .members = members, .count = elements};
  return cost_of(call, static_cast<std::size_t>(rank)).bytes;
}

StrategyEntry allreduce_row() {
  return {
      .name = "allreduce",
      .summary = "synchronous SGD: the gradients of all workers are averaged every step",
      .options = balanced(
          {algorithm_option(),
           OptionSpec::choice("schedule", {"none", "wfbp", "ddp", "horovod", "mgwfbp", "priority"},
                              "how gradients are sent during the backward pass; none: in one, after it"),
           fusion_option("how much is sent together; default: as the named system; auto: tuned while "
                         "training")
               .with("schedule=ddp|horovod|priority"),
           OptionSpec::size_of("first", "1m", "the same of the first bucket").with("schedule=ddp|mgwfbp"),
           OptionSpec::number("cycle", "1", 0.001, 1000, "milliseconds between two looks at what is ready")
               .with("schedule=horovod"),
           window_option().with("schedule=wfbp|ddp|mgwfbp|priority"),
           compression_option("compress", "gradients").with("schedule=none"),
           feedback_option().with("schedule=none")}),
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .needs_all = true,
                   .conserves_mean = true,
                   .staleness = "0",
                   .waits_for = "the slowest worker, every step; with `balance` nobody, if speeds are steady",
                   .bytes = "2 M (n-1)/n with ring or halving, M log2 n with doubling; less with `compress`"},
      .make = make<AllReduce>,
      .bytes_sent = [](const Options& options, const Shape& shape,
                       Rank rank) -> std::optional<std::uint64_t> {
        // With a schedule the sizes of the buckets decide.
        if (options.text("schedule") != "none" || options.text("balance") != "none") return {};
        if (options.text("compress") != "none") return {};
        const auto once = all_reduce_bytes(options, shape.workers, shape.elements, rank);
        return once ? std::optional(shape.steps * *once) : std::nullopt;
      },
      .equal_models = [](const Options&) { return true; },
      .variants = {{},
                   {{"algorithm", "ring"}},
                   {{"algorithm", "halving"}},
                   {{"algorithm", "doubling"}},
                   {{"algorithm", "hierarchical"}},
                   {{"schedule", "wfbp"}},
                   {{"schedule", "ddp"}, {"fusion", "1k"}, {"first", "100"}, {"window", "3"}},
                   {{"schedule", "ddp"}, {"fusion", "auto"}},
                   {{"schedule", "horovod"}, {"fusion", "1k"}},
                   {{"schedule", "mgwfbp"}},
                   {{"schedule", "priority"}, {"window", "4"}},
                   {{"balance", "speed"}},
                   {{"compress", "fp16"}},
                   {{"compress", "int8:64:stochastic"}},
                   {{"compress", "int4"}, {"balance", "speed"}},
                   {{"compress", "topk:0.1+int8"}},
                   {{"compress", "randk:0.2"}, {"feedback", "off"}},
                   {{"compress", "powersgd:1"}},
                   {{"balance", "speed"}, {"schedule", "ddp"}, {"fusion", "1k"}, {"max-batch", "24"}}},
  };
}

}  // namespace starling::strategy
