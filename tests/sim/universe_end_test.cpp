// How a simulated run ends: workers that join late or never return, and whose models count.
#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "tests/support/simulations.h"

namespace starling::sim {
namespace {

using testing::run_to_end;
using testing::simulation_of;

constexpr Time at(double seconds) { return Time(Duration(static_cast<Duration::rep>(seconds * 1e9))); }

Simulation with_pause_without_end(const std::string& strategy, const strategy::OptionTexts& options) {
  Simulation simulation = simulation_of(strategy, options, 4);
  simulation.cluster.faults.push_back(
      {.kind = cluster::Fault::Kind::kPause, .subject = 2, .from = at(0.55), .to = Time(kForever)});
  return simulation;
}

TEST(UniverseEnd, WhoJoinsAfterTheEndIsNotWaitedFor) {
  Simulation late = simulation_of("ps", {}, 4);
  late.cluster.workers[3].joins = at(50);
  late.steps = 1000;
  late.until = at(0.95);
  const record::RunRecord run = run_to_end(late).run;
  EXPECT_LT(run.duration, std::chrono::milliseconds(1200));
  EXPECT_EQ(run.ranks[3].journal.steps, 0U);
  EXPECT_EQ(run.ranks[3].begin, run.ranks[3].end);
  EXPECT_EQ(run.ranks[3].ended, "");

  Simulation three = simulation_of("ps", {}, 3);
  three.steps = 1000;
  three.until = at(0.95);
  EXPECT_EQ(run.final_train_loss, run_to_end(three).run.final_train_loss) << "a model that was never there";
}

TEST(UniverseEnd, WhoJoinsAfterTheTargetIsNotWaitedFor) {
  Simulation late = simulation_of("ps", {{"mode", "asp"}}, 4);
  late.cluster.workers[3].joins = at(50);
  late.target_loss = 1e6;
  late.stop_at_target = true;
  const record::RunRecord run = run_to_end(late).run;
  EXPECT_TRUE(run.time_to_target.has_value());
  EXPECT_LT(run.duration, std::chrono::seconds(1));
}

TEST(UniverseEnd, IfNobodyIsLeftTheModelsOfAllCount) {
  Simulation simulation = simulation_of("allreduce", {}, 4);
  for (const Rank rank : {2, 0, 3, 1}) {
    simulation.cluster.faults.push_back(
        {.kind = cluster::Fault::Kind::kKill, .subject = rank, .from = at(0.95 + 0.01 * rank)});
  }
  const record::RunRecord run = run_to_end(simulation).run;
  for (const record::RankRecord& record : run.ranks) EXPECT_NE(record.ended, "") << record.rank;
  EXPECT_LT(*run.final_train_loss, run.losses.front().loss);
  EXPECT_NEAR(*run.final_train_loss, run.losses.back().loss, 0.2 * run.losses.back().loss);
}

TEST(UniverseEnd, APauseWithoutEndStopsThoseWhoWaitForIt) {
  const record::RunRecord run = run_to_end(with_pause_without_end("allreduce", {})).run;
  EXPECT_LT(run.duration, std::chrono::seconds(1));
  EXPECT_EQ(run.ranks[2].ended, "its step 6 never ends");
  for (const Rank rank : {0, 1, 3}) {
    EXPECT_EQ(run.ranks[static_cast<std::size_t>(rank)].ended, "waits for ever");
    EXPECT_EQ(run.ranks[static_cast<std::size_t>(rank)].journal.steps, 5U);
  }
}

TEST(UniverseEnd, APauseWithoutEndDoesNotStopTheOthers) {
  for (const strategy::OptionTexts& options :
       {strategy::OptionTexts{{"mode", "asp"}}, {{"mode", "bsp"}, {"backup", "1"}}}) {
    const record::RunRecord run = run_to_end(with_pause_without_end("ps", options)).run;
    EXPECT_LT(run.duration, std::chrono::seconds(2));
    EXPECT_EQ(run.ranks[2].ended, "its step 6 never ends");
    for (const std::size_t rank : {0, 1, 3}) {
      EXPECT_EQ(run.ranks[rank].ended, "");
      EXPECT_EQ(run.ranks[rank].journal.steps, 10U);
    }
  }
}

TEST(UniverseEnd, TimeThatCannotBeCountedIsAStepWithoutEnd) {
  Simulation simulation = simulation_of("allreduce", {}, 2);
  simulation.step_seconds = 1e9;
  const record::RunRecord run = run_to_end(simulation).run;
  EXPECT_EQ(run.ranks[0].ended, "its step 3 never ends");
  EXPECT_EQ(run.ranks[0].journal.steps, 2U);
}

TEST(UniverseEnd, NamesWhoTakesJoiners) {
  Simulation simulation = simulation_of("allreduce", {}, 2);
  simulation.cluster.workers[1].joins = at(1);
  try {
    check(simulation);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_TRUE(std::string(error.what())
                    .starts_with("worker 1 joins later, which strategy allreduce does not support; "
                                 "allowed with ps"))
        << error.what();
  }
}

}  // namespace
}  // namespace starling::sim
