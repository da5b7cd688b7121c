// Simulated workers that stand still and hosts that are cut off: who goes on, and when.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/simulations.h"

namespace starling::sim {
namespace {

using cluster::Fault;
using testing::simulation_of;

constexpr Time seconds(double count) { return Time(Duration(static_cast<Duration::rep>(count * 1e9))); }

// Ten steps of 0.1 s on two hosts, workers 0, 1 and 2, 3.
Simulation on_two_hosts(const Fault& fault) {
  Simulation simulation = simulation_of("allreduce", {}, 4);
  for (std::size_t rank = 0; rank < 4; ++rank) simulation.cluster.workers[rank].host = rank < 2 ? 0 : 1;
  simulation.cluster.faults.push_back(fault);
  return simulation;
}

void expect_to_go_on(const record::RunRecord& run, const Group& workers) {
  for (const record::RankRecord& record : run.ranks) {
    const bool expected = std::find(workers.begin(), workers.end(), record.rank) != workers.end();
    EXPECT_EQ(record.ended.empty(), expected) << "worker " << record.rank << ": " << record.ended;
    if (expected) {
      EXPECT_EQ(record.journal.steps, 10U);
    }
  }
}

TEST(Reachability, AShortStopIsAPause) {
  const record::RunRecord run = simulate(
      on_two_hosts({.kind = Fault::Kind::kStop, .subject = 1, .from = seconds(0.55), .to = seconds(8.55)}));
  expect_to_go_on(run, {0, 1, 2, 3});
  EXPECT_GT(run.duration, std::chrono::seconds(8));
  EXPECT_LT(run.duration, std::chrono::milliseconds(9300));
}

TEST(Reachability, AWorkerThatStandsStillIsKilledByItsHost) {
  const record::RunRecord run =
      simulate(on_two_hosts({.kind = Fault::Kind::kStop, .subject = 1, .from = seconds(0.55)}));
  expect_to_go_on(run, {0, 2, 3});
  EXPECT_EQ(run.ranks[1].ended, "it stood still for 20 s");
}

TEST(Reachability, OnAHostOfItsOwnItIsExcluded) {
  Simulation simulation =
      on_two_hosts({.kind = Fault::Kind::kStop, .subject = 3, .from = seconds(0.55), .to = seconds(100)});
  simulation.cluster.workers[2].host = 0;
  const record::RunRecord run = simulate(simulation);
  expect_to_go_on(run, {0, 1, 2});
  EXPECT_LT(run.ranks[0].end, seconds(6.5));
  EXPECT_NE(run.ranks[3].ended.find("is no longer part of the run"), std::string::npos) << run.ranks[3].ended;
  EXPECT_LT(run.ranks[3].end, seconds(101)) << "it is told when it goes on";
}

TEST(Reachability, AShortCutIsAPause) {
  const record::RunRecord run = simulate(
      on_two_hosts({.kind = Fault::Kind::kCut, .subject = 1, .from = seconds(0.55), .to = seconds(4.55)}));
  expect_to_go_on(run, {0, 1, 2, 3});
}

TEST(Reachability, OfTwoHalvesThatOfWorker0GoesOn) {
  for (const int host : {0, 1}) {
    const record::RunRecord run = simulate(
        on_two_hosts({.kind = Fault::Kind::kCut, .subject = host, .from = seconds(0.55), .to = seconds(60)}));
    expect_to_go_on(run, {0, 1});
    EXPECT_LT(run.ranks[0].end, seconds(6.5));
    EXPECT_LT(run.ranks[2].end, seconds(61)) << "the others end when the link is back";
  }
}

TEST(Reachability, ASideThatIsTooSmallEndsInTime) {
  const record::RunRecord run =
      simulate(on_two_hosts({.kind = Fault::Kind::kCut, .subject = 1, .from = seconds(0.55)}));
  expect_to_go_on(run, {0, 1});
  EXPECT_NE(run.ranks[2].ended.find("too few are left here"), std::string::npos) << run.ranks[2].ended;
  EXPECT_LT(run.ranks[2].end, seconds(310));
}

// Worker 4 is cut off, and the worker with the server dies. Worker 1 decides on a view without both and ends,
// because the server is lost, before the others have heard of the decision. They are too few to go on, until
// worker 4 is back and completes with them what leaves it out.
TEST(Reachability, AWorkerThatExcludesItselfEnds) {
  Simulation simulation = simulation_of("ps", {{"server", "beside"}}, 5);
  for (std::size_t rank = 0; rank < 5; ++rank) simulation.cluster.workers[rank].host = rank == 0 ? 1 : 2;
  simulation.cluster.workers[4].host = 0;
  simulation.cluster.faults = {
      {.kind = Fault::Kind::kCut, .subject = 0, .from = seconds(0.5), .to = seconds(30)},
      {.kind = Fault::Kind::kKill, .subject = 0, .from = seconds(0.6)}};
  const record::RunRecord run = simulate(simulation);
  expect_to_go_on(run, {});
  EXPECT_NE(run.ranks[4].ended.find("is no longer part of the run"), std::string::npos) << run.ranks[4].ended;
  EXPECT_LT(run.ranks[4].end, seconds(31));
}

}  // namespace
}  // namespace starling::sim
