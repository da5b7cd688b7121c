// A simulated run of any length keeps a limited record, whose sums are those of a run without a limit.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "starling/record/summary.h"
#include "starling/record/wait_analysis.h"
#include "tests/support/simulations.h"

namespace starling::sim {
namespace {

using record::RecordMode;
using record::RecordPlan;

constexpr std::uint64_t kLimit = 1024;

// With the options of the first variant: where a worker waits for another's many steps, a wait outlasts the
// rounds of so small a record.
Simulation long_run(const strategy::StrategyEntry& row, const RecordPlan& plan) {
  Simulation simulation = testing::simulation_of(row, row.variants.front(), 4);
  simulation.steps = 1500;
  simulation.evaluate_every = 50;
  simulation.cluster.workers[1].speed = 0.5;
  for (cluster::WorkerSpec& worker : simulation.cluster.workers)
    worker.jitter = cluster::parse_jitter("exponential", "--jitter");
  simulation.record = plan;
  return simulation;
}

nlohmann::json summary_of(const record::RunRecord& run) {
  nlohmann::json json = nlohmann::json::parse(record::summary_json(run, record::analyse_waits(run)));
  json.erase("record");
  return json;
}

TEST(RecordLimit, SumsAreThoseOfARunWithoutALimit) {
  for (const strategy::StrategyEntry& row : strategy::registry()) {
    const record::RunRecord all = simulate(long_run(row, {RecordMode::kFull, record::kMostSpans}));
    const record::RunRecord few = simulate(long_run(row, {RecordMode::kFull, kLimit}));
    const record::RunRecord sums = simulate(long_run(row, {RecordMode::kSummary, kLimit}));
    EXPECT_FALSE(all.ranks[0].folded.any()) << row.name;
    EXPECT_TRUE(few.ranks[0].folded.any()) << row.name;
    EXPECT_EQ(summary_of(few), summary_of(all)) << row.name;
    EXPECT_EQ(summary_of(sums), summary_of(all)) << row.name;
  }
}

TEST(RecordLimit, SpansStayWithinTheLimit) {
  for (const strategy::StrategyEntry& row : strategy::registry()) {
    for (const RecordMode mode : {RecordMode::kFull, RecordMode::kSummary}) {
      for (const record::RankRecord& record : simulate(long_run(row, {mode, kLimit})).ranks)
        EXPECT_LE(record.journal.spans.size(), kLimit) << row.name << ", rank " << record.rank;
    }
  }
}

TEST(RecordLimit, OffKeepsNoSpans) {
  const strategy::StrategyEntry& row = strategy::find_strategy("allreduce");
  const record::RunRecord run = simulate(long_run(row, {RecordMode::kOff}));
  for (const record::RankRecord& record : run.ranks) {
    EXPECT_TRUE(record.journal.spans.empty());
    EXPECT_EQ(record.journal.steps, 1500U);
  }
  EXPECT_EQ(summary_of(run)["samples"], summary_of(simulate(long_run(row, {})))["samples"]);
}

}  // namespace
}  // namespace starling::sim
