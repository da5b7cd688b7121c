// `--fusion auto` on models and networks as they are: what it settles for is nearly as good as the best of
// all that a search over a grid finds.
#include "starling/strategy/schedule/bucket_size.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "tests/strategy/dear_cases.h"
#include "tests/strategy/fake_worker.h"

namespace starling::strategy {
namespace {

using Kind = record::Detail::Kind;
using testing::with;

constexpr int kFusionWorkers = 16;
constexpr std::uint64_t kTrials = 12;
constexpr std::uint64_t kStepsOfTrial = 6;  // the first does not count

struct FusionCase {
  std::string model;
  std::string network;
  std::string strategy;
  OptionTexts options;
};

sim::Simulation simulation_of(const FusionCase& which, const std::string& fusion, std::uint64_t steps) {
  sim::Simulation simulation =
      testing::simulation_of(which.strategy, with(which.options, {{"fusion", fusion}}), kFusionWorkers);
  const cluster::Link link = cluster::parse_link(which.network, "network");
  simulation.cluster = cluster::even_cluster(kFusionWorkers, kFusionWorkers, link, link, {});
  simulation.workload = sim::make_workload("replay:" + which.model, {.workers = kFusionWorkers}, "workload");
  simulation.steps = steps;
  simulation.evaluate_every = 1'000'000;
  return simulation;
}

// The time of a step when all has settled, from forward pass to forward pass of rank 0.
double step_seconds(const FusionCase& which, const std::string& fusion, std::uint64_t steps) {
  const record::RunRecord run = sim::simulate(simulation_of(which, fusion, steps));
  std::map<std::uint64_t, Time> begins;
  for (const record::Span& span : run.ranks.front().journal.spans) {
    if (span.detail.kind == Kind::kForward) begins.emplace(span.detail.step, span.begin);
  }
  return seconds_of(begins.at(steps) - begins.at(steps - 1));
}

// Cases that take a second or two to simulate.
std::vector<FusionCase> cases() {
  std::vector<FusionCase> cases;
  for (const char* model : {"resnet50", "densenet201", "bert-base"}) {
    cases.push_back({model, "10gbe", "dear", {}});
    for (const char* schedule : {"ddp", "horovod"}) {
      cases.push_back({model, "10gbe", "allreduce", {{"schedule", schedule}}});
    }
  }
  cases.push_back({"resnet50", "100gib", "dear", {}});
  cases.push_back({"resnet50", "100gib", "allreduce", {{"schedule", "ddp"}}});
  cases.push_back({"bert-base", "100gib", "allreduce", {{"schedule", "priority"}}});
  return cases;
}

std::string fusion_case_name(const ::testing::TestParamInfo<FusionCase>& info) {
  const FusionCase& which = info.param;
  std::string name = concat(which.model, "_", which.network, "_", which.strategy);
  if (!which.options.empty()) name += "_" + which.options.at("schedule");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class FusionAuto : public ::testing::TestWithParam<FusionCase> {};
INSTANTIATE_TEST_SUITE_P(Models, FusionAuto, ::testing::ValuesIn(cases()), fusion_case_name);

TEST_P(FusionAuto, SettlesNearTheBestOfAGrid) {
  double best = 0;
  std::string at;
  for (int mebibytes = 1; mebibytes <= 256; mebibytes *= 2) {
    const double seconds = step_seconds(GetParam(), concat(mebibytes, "m"), 4);
    if (best == 0 || seconds < best) {
      best = seconds;
      at = concat(mebibytes, " MiB");
    }
  }
  const record::RunRecord run = sim::simulate(simulation_of(GetParam(), "auto", kTrials * kStepsOfTrial + 2));
  const record::Fusion& found = run.ranks.front().journal.fusion;
  EXPECT_TRUE(found.settled);
  EXPECT_LE(found.trials.size(), kTrials);
  const double settled = step_seconds(GetParam(), concat(found.bytes), 4);
  EXPECT_LE(settled, 1.03 * best) << "the best is at " << at;
}

// A step may begin before the one before has asked for its threshold, as where the gradients of all sections
// come at once.
Task<> ask_late(testing::FakeWorker& self, std::vector<std::uint64_t>& thresholds) {
  AgreedExchange agreed(self);
  BucketSize fusion(self, agreed, {std::size_t{25} << 20, true});
  fusion.step_begins();
  for (int step = 0; step < 60; ++step) {
    co_await runtime::sleep_for(std::chrono::milliseconds(10 + step % 7));
    fusion.step_begins();
    const std::uint64_t bytes = co_await fusion.agreed();
    thresholds.push_back(bytes);
  }
}

TEST(BucketSize, AllRanksHaveTheThresholdOfTheSameStep) {
  std::vector<std::vector<std::uint64_t>> thresholds(3);
  const RunInfo place = testing::place_of(3, {});
  testing::VirtualRanks ranks(3);
  std::deque<testing::FakeWorker> fakes;
  for (Rank rank = 0; rank < 3; ++rank) fakes.emplace_back(place, ranks.at(rank));
  ranks.run_all([&](Rank rank, transport::Transport&) {
    const auto index = static_cast<std::size_t>(rank);
    return ask_late(fakes[index], thresholds[index]);
  });
  EXPECT_EQ(thresholds[1], thresholds[0]);
  EXPECT_EQ(thresholds[2], thresholds[0]);
  EXPECT_GE(std::set(thresholds[0].begin(), thresholds[0].end()).size(), 3U);
}

}  // namespace
}  // namespace starling::strategy
