// The simulated world as a strategy sees it, tried with small strategies made for the purpose.
#include "starling/sim/universe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/strategy/timed_exchange.h"
#include "tests/support/simulations.h"

namespace starling::sim {
namespace {

using runtime::Task;
using strategy::StepPlan;
using strategy::Worker;
using testing::run_to_end;

using Body = std::function<Task<>(Worker&)>;

class Scripted final : public strategy::Strategy {
 public:
  explicit Scripted(Body body) : body_(std::move(body)) {}
  Task<> run(Worker& self) const override { return body_(self); }
  bool lockstep() const override { return false; }

 private:
  Body body_;
};

// A row for a strategy that is nothing but `body`.
strategy::StrategyEntry row_of(Body body) {
  return {.name = "scripted",
          .make = [body](const strategy::Options&, int) { return std::make_unique<Scripted>(body); }};
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Simulation simulation_with(const strategy::StrategyEntry& row, int workers = 1) {
  Simulation simulation = testing::simulation_of(row, {}, workers);
  simulation.cluster = testing::instant_cluster(workers);
  simulation.step_seconds = 1;
  simulation.steps = 1;
  return simulation;
}

struct Seen {
  std::vector<std::size_t> forward, ready;
  std::vector<double> ready_at;
  int pieces = 0;
  std::size_t samples = 0;
};

TEST(Universe, PiecesTakeTheirShareOfTheTimeAndGiveTheMeanSoFar) {
  Seen seen;
  const strategy::StrategyEntry row = row_of([&](Worker& self) -> Task<> {
    StepPlan plan;
    plan.pieces = 4;
    plan.stop = [&] { return self.pieces() == 3; };
    co_await self.compute(plan);
    seen.pieces = self.pieces();
    seen.samples = self.samples();
    co_await self.update();
  });
  Simulation simulation = simulation_with(row);
  simulation.workload = testing::signatures(1);
  const auto outcome = run_to_end(simulation);  // a batch of 1 cut in 4: three pieces are empty, one is not
  EXPECT_EQ(seen.pieces, 3);
  EXPECT_EQ(seen.samples, 1U);
  simulation.workload = make_workload("quadratic", {.batch = 32}, "workload");
  EXPECT_NEAR(seconds(run_to_end(simulation).run.duration), 0.75, 1e-6);
  EXPECT_EQ(seen.samples, 24U);
}

TEST(Universe, AFactorOfTheJitterLastsAsLongAsTheClusterSays) {
  const auto run_of = [](int pieces, std::uint64_t span) {
    const strategy::StrategyEntry row = row_of([pieces](Worker& self) -> Task<> {
      StepPlan plan;
      plan.pieces = pieces;
      bool more = true;
      while (more) more = co_await self.compute(plan);
    });
    Simulation simulation = simulation_with(row);
    simulation.steps = 12;
    simulation.workload = make_workload("quadratic", {.batch = 32}, "workload");
    simulation.cluster.workers[0].jitter = {cluster::Jitter::Kind::kExponential, 0, 0};
    simulation.cluster.workers[0].jitter_span = {span};
    return seconds(simulate(simulation).duration);
  };
  EXPECT_EQ(run_of(1, 0), run_of(1, 1)) << "one piece is the step";
  EXPECT_NEAR(run_of(4, 1), run_of(1, 1), 1e-6);
  EXPECT_GT(std::abs(run_of(4, 0) - run_of(1, 1)), 1e-3);
  // Twelve steps of the first factor.
  EXPECT_NEAR(run_of(4, 12), 12 * run_of(1, 20) / 12, 1e-6);
}

TEST(Universe, AllPiecesTogetherAreTheWholeBatch) {
  const auto model_after = [](int pieces) {
    const strategy::StrategyEntry row = row_of([pieces](Worker& self) -> Task<> {
      StepPlan plan;
      plan.pieces = pieces;
      co_await self.compute(plan);
      co_await self.update();
    });
    Simulation simulation = simulation_with(row);
    simulation.workload = make_workload("quadratic", {.noise = 0}, "workload");
    return run_to_end(simulation).models[0];
  };
  EXPECT_EQ(model_after(1), model_after(8));
}

class Listener final : public strategy::StepListener {
 public:
  Listener(Worker& self, Seen& seen) : self_(self), seen_(seen) {}
  Task<> before_forward(std::size_t section) override {
    seen_.forward.push_back(section);
    if (section == 2) co_await runtime::sleep_for(std::chrono::seconds(5));  // not up to date before
  }
  void gradient_ready(std::size_t section) override {
    seen_.ready.push_back(section);
    seen_.ready_at.push_back(seconds(self_.now().time_since_epoch()));
  }

 private:
  Worker& self_;
  Seen& seen_;
};

TEST(Universe, SectionsPassForwardInOrderAndBackwardInReverse) {
  Seen seen;
  const strategy::StrategyEntry row = row_of([&](Worker& self) -> Task<> {
    Listener listener(self, seen);
    StepPlan plan;
    plan.listener = &listener;
    co_await self.compute(plan);
  });
  Simulation simulation = simulation_with(row);
  simulation.workload = make_workload("mlp", {}, "workload");
  const record::RunRecord run = simulate(simulation);
  EXPECT_EQ(seen.forward, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(seen.ready, (std::vector<std::size_t>{3, 2, 1, 0}));
  EXPECT_NEAR(seconds(run.duration), 6, 1e-6);  // a second of computing, five of being held up
  EXPECT_NEAR(seen.ready_at.back(), 6, 1e-6);
  EXPECT_GT(seen.ready_at.front(), 5 + 1.0 / 3);
}

TEST(Universe, AnUpdateInPartsIsTheWholeUpdate) {
  const auto model_after = [](bool parts) {
    const strategy::StrategyEntry row = row_of([parts](Worker& self) -> Task<> {
      for (int step = 0; step < 3; ++step) {
        co_await self.compute();
        if (!parts) co_await self.update();
        if (parts) co_await self.update(Slice{5, 16}, self.step());
        if (parts) co_await self.update(Slice{0, 5}, self.step());
      }
    });
    Simulation simulation = simulation_with(row);
    simulation.steps = 3;
    simulation.optimizer.kind = optim::OptimizerSpec::Kind::kAdamW;
    return run_to_end(simulation).models[0];
  };
  EXPECT_EQ(model_after(false), model_after(true));
}

// An exchange beside the computing: it costs no time as long as it is the shorter one.
TEST(Universe, AnExchangeGoesOnWhileTheWorkerComputes) {
  const strategy::StrategyEntry row = row_of([](Worker& self) -> Task<> {
    const auto exchange = [](Worker& worker, strategy::Data copy) -> Task<> {
      strategy::Stopwatch watch(worker, record::Activity::kMeet, record::kNobody, 1);
      watch.in_background();
      const Group both{0, 1};
      co_await collective::all_reduce(worker.net(), both, copy, collective::Reduction::mean(), 1);
    };
    const strategy::Buffer copy = self.initial_model();
    runtime::Scope scope(co_await runtime::this_context());
    scope.spawn(exchange(self, copy.data), "exchange");
    co_await self.compute();
    co_await scope.join();
  });
  Simulation simulation = simulation_with(row, 2);
  for (cluster::HostSpec& host : simulation.cluster.hosts)
    host.outside = {100, Duration(0)};  // 64 bytes: 0.64 s
  EXPECT_NEAR(seconds(simulate(simulation).duration), 1, 1e-6);
  for (cluster::HostSpec& host : simulation.cluster.hosts) host.outside = {10, Duration(0)};
  EXPECT_NEAR(seconds(simulate(simulation).duration), 6.4, 1e-6);
}

TEST(Universe, SlowdownsAndPausesChangeTheComputingOnly) {
  const strategy::StrategyEntry& row = testing::alone();
  Simulation simulation = simulation_with(row);
  simulation.steps = 4;
  simulation.cluster.faults = {{.kind = cluster::Fault::Kind::kSlow,
                                .subject = 0,
                                .from = Time(std::chrono::seconds(1)),
                                .to = Time(std::chrono::seconds(3)),
                                .factor = 2},
                               {.kind = cluster::Fault::Kind::kPause,
                                .subject = 0,
                                .from = Time(std::chrono::seconds(4)),
                                .to = Time(std::chrono::seconds(14))}};
  EXPECT_NEAR(seconds(simulate(simulation).duration), 4 + 1 + 10, 1e-6);
}

TEST(Universe, ADegradedLinkDelaysWhatPassesIt) {
  Simulation simulation = testing::simulation_of("allreduce", {{"algorithm", "ring"}}, 2);
  simulation.workload = make_workload("quadratic", {.parameters = 1000}, "workload");
  for (cluster::HostSpec& host : simulation.cluster.hosts)
    host.outside = {4000, Duration(0)};  // a model a second
  simulation.steps = 2;
  const double equal = seconds(simulate(simulation).duration);
  EXPECT_NEAR(equal, 2.2, 1e-6);
  simulation.cluster.faults = {{.kind = cluster::Fault::Kind::kLink,
                                .subject = 1,
                                .from = Time(std::chrono::seconds(1)),
                                .to = Time(std::chrono::seconds(2)),
                                .factor = 4}};
  // The second all-reduce and the end of the first run at a quarter of the speed for a second.
  EXPECT_NEAR(seconds(simulate(simulation).duration), equal + 0.675, 1e-6);
}

TEST(Universe, ABugInAStrategyIsNotMistakenForADeadlock) {
  const strategy::StrategyEntry row = row_of([](Worker& self) -> Task<> {
    co_await self.compute();
    throw Error("a bug");
  });
  try {
    simulate(simulation_with(row, 3));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a bug");
  }
}

TEST(Universe, ADeadlockIsReported) {
  const strategy::StrategyEntry row = row_of([](Worker& self) -> Task<> {
    std::byte byte{};
    co_await self.net().recv(1 - self.rank(), 7, {&byte, 1});
  });
  try {
    simulate(simulation_with(row, 2));
    FAIL();
  } catch (const Deadlock& report) {
    EXPECT_NE(std::string(report.what()).find("worker 0"), std::string::npos) << report.what();
    EXPECT_NE(std::string(report.what()).find("from rank 1"), std::string::npos) << report.what();
  }
}

TEST(Universe, TimeEndsTheRunAtTheSameStepForAllWhoCountTogether) {
  Simulation simulation = testing::simulation_of("local-sgd", {{"period", "4"}}, 3);
  simulation.cluster.workers[1].speed = 0.6;
  simulation.steps = 1'000'000;
  simulation.until = Time(std::chrono::seconds(7));
  const record::RunRecord run = simulate(simulation);
  EXPECT_EQ(run.ranks[0].journal.steps, run.ranks[1].journal.steps);
  EXPECT_EQ(run.ranks[0].journal.steps, run.ranks[2].journal.steps);
  EXPECT_EQ(run.consensus_distance, 0);
}

TEST(Universe, StopsAtTheTarget) {
  Simulation simulation = testing::simulation_of("allreduce", {}, 4);
  simulation.steps = 10'000;
  simulation.target_loss = 0.5;
  simulation.stop_at_target = true;
  const record::RunRecord run = simulate(simulation);
  ASSERT_TRUE(run.time_to_target);
  EXPECT_LE(*run.final_train_loss, 0.5);
  EXPECT_LT(run.ranks[0].journal.steps, 1000U);
}

}  // namespace
}  // namespace starling::sim
