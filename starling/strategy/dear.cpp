#include "starling/strategy/dear.h"

#include <algorithm>
#include <set>

#include "starling/collective/direct.h"
#include "starling/collective/halving.h"
#include "starling/collective/hierarchical.h"
#include "starling/collective/select.h"
#include "starling/strategy/schedule/dear_schedule.h"
#include "starling/strategy/schedule/schedule_options.h"

namespace starling::strategy {

namespace {

// Whether workers that share a host would share its link in an exchange with workers elsewhere.
bool share_links(const Worker& self) {
  std::set<int> hosts;
  for (Rank rank = 0; rank < self.workers(); ++rank) hosts.insert(self.host_of(rank));
  return hosts.size() > 1 && hosts.size() < static_cast<std::size_t>(self.workers());
}

// Both halves use the algorithm that sends least, whatever the size of the bucket. Where workers share
// links, two levels cross them least, and the ring, for which they need not stand together, once a step.
// Elsewhere halving has fewer steps.
collective::Choice halves_for(Worker& self) {
  using collective::Algorithm;
  const collective::SharedGroup everyone = self.everyone();
  if (collective::direct_possible(self.net(), everyone)) return Algorithm::kDirect;
  if (!share_links(self))
    return collective::halving_splits(everyone.size()) ? Algorithm::kHalving : Algorithm::kRing;
  const bool two_levels = collective::hierarchical_halves_possible(self.net(), everyone);
  return two_levels ? Algorithm::kHierarchical : Algorithm::kRing;
}

Dear::Gather gather_of(const Options& options) {
  const std::string& name = options.text("gather");
  if (name == "weights") return Dear::Gather::kWeights;
  return name == "gradients" ? Dear::Gather::kGradients : Dear::Gather::kAuto;
}

}  // namespace

Dear::Dear(const Options& options, int workers)
    : gather_(gather_of(options)),
      edge_(*options.size("edge")),
      front_(*options.size("front")),
      balance_(balance_rules(options, "dear", workers)) {
  schedule_.window = static_cast<int>(options.integer("window"));
  if (options.text("algorithm") != "auto") {
    schedule_.algorithm = collective::parse_algorithm(options.text("algorithm"), "algorithm");
  }
  schedule_.fusion = fusion_of(options, kDearFusion);
}

Task<> Dear::run(Worker& self) const {
  const runtime::Context& context = co_await runtime::this_context();
  const bool weights = gather_ == Gather::kWeights || (gather_ == Gather::kAuto && self.has_flat_optimizer());
  BucketSchedule::TransferOptions setting = schedule_;
  std::size_t front = 0;
  if (!setting.algorithm) {
    setting.algorithm = halves_for(self);
    if (setting.algorithm != collective::Algorithm::kDirect) front = front_ / sizeof(float);
  }
  const std::size_t edge = std::max<std::size_t>(1, edge_ / sizeof(float));
  AgreedExchange agreed(self, setting.algorithm);
  DearSchedule schedule(self, agreed, setting, weights, edge, front, context);
  BatchBalance balance(self, agreed, balance_);
  StepPlan plan;
  plan.listener = &schedule;
  for (;;) {
    balance.plan(plan);
    const bool more = co_await self.compute(plan);
    if (!more) break;
    co_await balance.step_computed();
    if (!self.rests_next()) continue;
    co_await schedule.settle();  // a checkpoint has to hold the state of the optimiser
    co_await schedule.gather_state();
  }
  co_await schedule.settle();
  co_await agreed.finish();
}

StrategyEntry dear_row() {
  return {
      .name = "dear",
      .summary =
          "synchronous SGD: gradients are reduce-scattered during backward, gathered during the next forward",
      .options = balanced(
          {OptionSpec::choice("algorithm", {"auto", "ring", "halving", "hierarchical"},
                              "of both halves; auto: direct on shared memory, hierarchical where "
                              "workers share hosts, halving where they are a power of two, else ring"),
           fusion_option("largest size of a bucket; default: 25m; auto: tuned while training"),
           OptionSpec::size_of("edge", "256k", "size of the buckets at both ends of the model"),
           OptionSpec::size_of("front", "32k",
                               "the foremost sections up to this size are all-reduced at once; not on "
                               "shared memory or with an algorithm"),
           window_option(),
           OptionSpec::choice("gather", {"auto", "weights", "gradients"},
                              "weights: each worker updates its slice; gradients: each updates all; auto: "
                              "weights if the optimiser can be cut in slices")}),
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .needs_all = true,
                   .conserves_mean = false,
                   .staleness = "0",
                   .waits_for = "the slowest worker, every step; with `balance` nobody, if speeds are steady",
                   .bytes = "2 M (n-1)/n, log2 n times the size of the front; rank 0 also 8 (n-1) for each "
                            "transfer"},
      .make = make<Dear>,
      .bytes_sent = [](const Options&, const Shape&, Rank) -> std::optional<std::uint64_t> { return {}; },
      .equal_models = [](const Options&) { return true; },
      .variants = {{},
                   {{"algorithm", "ring"}, {"fusion", "1k"}, {"edge", "64"}},
                   {{"fusion", "256"}, {"edge", "16"}, {"window", "3"}},
                   {{"gather", "gradients"}, {"fusion", "256"}, {"edge", "16"}, {"front", "1"}},
                   {{"algorithm", "hierarchical"}, {"fusion", "256"}, {"edge", "16"}},
                   {{"fusion", "256"}, {"edge", "16"}, {"front", "64"}},
                   {{"fusion", "auto"}},
                   {{"fusion", "256"}, {"edge", "16"}, {"balance", "speed"}}},
  };
}

}  // namespace starling::strategy
