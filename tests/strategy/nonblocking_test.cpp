#include "starling/strategy/nonblocking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "starling/core/error.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using testing::Outcome;
using testing::run_to_end;
using testing::simulation_of;

// Steps of a second, in a network that takes no time.
sim::Simulation nonblocking(const OptionTexts& options, int workers, std::uint64_t steps = 20) {
  sim::Simulation simulation = simulation_of("nonblocking", options, workers);
  simulation.cluster = testing::instant_cluster(workers);
  simulation.step_seconds = 1;
  simulation.steps = steps;
  return simulation;
}

// Every element of a gradient is 1, so with a rate of 1 the first parameter counts updates backwards. Notes
// at which version of the model, and for how many samples, each worker computed.
class Versions final : public sim::Workload {
 public:
  explicit Versions(std::size_t batch) : batch_(batch) {}
  const std::vector<Section>& sections() const override { return sections_; }
  std::size_t batch() const override { return batch_; }
  void initialize(std::span<float> x, Random&) const override { x[0] = 0; }
  double gradient(Rank worker, std::span<const float> x, std::span<float> gradient, std::size_t samples,
                  Random&) const override {
    gradient[0] = 1;
    used[{static_cast<std::uint64_t>(std::lround(-x[0])), worker}] += samples;
    return 0;
  }
  sim::Evaluation evaluate(std::span<const float>) const override { return {}; }

  mutable std::map<std::pair<std::uint64_t, Rank>, std::size_t> used;  // samples by version and worker

 private:
  std::size_t batch_;
  std::vector<Section> sections_{{"all", 0, 1}};
};

double seconds(const record::RunRecord& run) { return seconds_of(run.duration); }

TEST(NonBlocking, EqualWorkersMakeTheStepsOfAllReduce) {
  for (const int workers : {1, 2, 4, 7}) {
    const Outcome own = run_to_end(simulation_of("nonblocking", {{"pieces", "1"}}, workers));
    const Outcome reference = run_to_end(simulation_of("allreduce", {}, workers));
    EXPECT_EQ(own.models, reference.models) << workers << " workers";
  }
}

TEST(NonBlocking, EqualWorkersLeaveNothingOut) {
  const Outcome first = run_to_end(nonblocking({}, 4)),
                all = run_to_end(nonblocking({{"trigger", "all"}}, 4));
  EXPECT_EQ(first.models, all.models);
  EXPECT_EQ(first.run.ranks[3].journal.samples, all.run.ranks[0].journal.samples);
  EXPECT_NEAR(seconds(first.run), 20, 1e-5);
}

// Worker 0 needs f / 8 for a piece. The others finish at 1, when its k-th is under way.
TEST(NonBlocking, OneSlowWorkerCostsOneOfItsPieces) {
  struct Case {
    double slow;
    const char* late;
    double step;
    std::size_t pieces;
  };
  for (const Case& expected :
       {Case{3, "finish", 1.125, 3}, Case{5, "finish", 1.25, 2}, Case{20, "finish", 2.5, 1},
        Case{3, "drop", 1, 2}, Case{5, "drop", 1, 1}, Case{20, "drop", 1, 0}}) {
    sim::Simulation simulation = nonblocking({{"late", expected.late}}, 8, 10);
    simulation.cluster.workers[0].speed = 1 / expected.slow;
    const auto versions = std::make_shared<Versions>(16);
    simulation.workload = versions;
    simulation.optimizer.learning_rate = 1;
    const record::RunRecord run = sim::simulate(simulation);
    EXPECT_NEAR(seconds(run), 10 * expected.step, 1e-6) << expected.slow << " " << expected.late;
    EXPECT_EQ(run.ranks[0].journal.samples, 10 * 2 * expected.pieces)
        << expected.slow << " " << expected.late;
    EXPECT_EQ(run.ranks[5].journal.samples, 10U * 16);
  }
}

// Worker 0 needs 2 / 8 for a piece, and so has time for three in the step of 1 of the others. When it knows
// that, no step takes longer. A worker without time for any piece takes part with one.
TEST(NonBlocking, APieceThatWouldBeLateIsNotBegun) {
  for (const auto& [slow, step, pieces] :
       {std::tuple{2.1, 1.0, 3U}, std::tuple{5.0, 1.0, 1U}, std::tuple{20.0, 2.5, 1U}}) {
    sim::Simulation simulation = nonblocking({}, 8, 11);
    simulation.cluster.workers[0].speed = 1 / slow;
    const double first = slow / 8 * std::ceil(8 / slow);
    const record::RunRecord run = sim::simulate(simulation);
    EXPECT_NEAR(seconds(run), first + 10 * step, 1e-5) << slow;
    const std::uint64_t whole = run.ranks[1].journal.samples / 11;
    EXPECT_EQ(run.ranks[0].journal.samples, (10 * pieces + std::lround(std::ceil(8 / slow))) * whole / 8)
        << slow;
  }
}

// Workers of equal speed go on finishing their batches, also when all become slower.
TEST(NonBlocking, NobodyAvoidsWhatSetsThePace) {
  sim::Simulation simulation = nonblocking({}, 4, 20);
  for (Rank rank = 0; rank < 4; ++rank) {
    simulation.cluster.faults.push_back({.kind = cluster::Fault::Kind::kSlow,
                                         .subject = rank,
                                         .from = Time(std::chrono::milliseconds(10'500)),
                                         .to = Time(kForever),
                                         .factor = 3});
  }
  const record::RunRecord run = sim::simulate(simulation);
  const std::uint64_t all = 4 * 20 * simulation.workload->batch();
  std::uint64_t samples = 0;
  for (const auto& rank : run.ranks) samples += rank.journal.samples;
  EXPECT_GE(samples, all * 95 / 100);
}

// With the model at step t of the workers, all gradients of step t were computed.
TEST(NonBlocking, NoGradientIsStale) {
  for (const char* late : {"avoid", "finish", "drop"}) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      sim::Simulation simulation = nonblocking({{"late", late}}, 5, 12);
      simulation.seed = seed;
      for (auto& worker : simulation.cluster.workers)
        worker.jitter = {cluster::Jitter::Kind::kLognormal, 0.7, 0};
      const auto versions = std::make_shared<Versions>(16);
      simulation.workload = versions;
      simulation.optimizer.learning_rate = 1;
      const Outcome outcome = run_to_end(simulation);
      for (const std::vector<float>& model : outcome.models) EXPECT_EQ(model, std::vector<float>{-12});
      std::map<std::uint64_t, std::size_t> most;
      for (const auto& [key, samples] : versions->used) {
        EXPECT_LT(key.first, 12U);
        EXPECT_LE(samples, 16U);
        most[key.first] = std::max(most[key.first], samples);
      }
      for (const auto& [version, samples] : most) {
        EXPECT_TRUE(samples == 16 || late == std::string("avoid")) << "nobody finished step " << version;
      }
    }
  }
}

// The mean over samples, or over workers.
TEST(NonBlocking, WeighsSamplesOrWorkers) {
  for (const bool workers : {false, true}) {
    sim::Simulation simulation =
        nonblocking({{"pieces", "4"}, {"weights", workers ? "workers" : "samples"}}, 2, 1);
    simulation.cluster.workers[0].speed = 1 / 2.5;  // finishes 2 of 4 pieces
    simulation.workload = testing::signatures(2, 16);
    simulation.optimizer.learning_rate = 1;
    const Outcome outcome = run_to_end(simulation);
    EXPECT_NEAR(outcome.models[0][0], workers ? -1.0 / 2 : -1.0 / 3, 1e-6);
    EXPECT_NEAR(outcome.models[0][1], workers ? -1.0 / 2 : -2.0 / 3, 1e-6);
    EXPECT_EQ(outcome.models[0], outcome.models[1]);
  }
}

TEST(NonBlocking, ScalesByThePiecesUsed) {
  sim::Simulation simulation = nonblocking({{"pieces", "4"}, {"scale", "pieces"}}, 2, 1);
  simulation.cluster.workers[0].speed = 1 / 2.5;
  simulation.workload = testing::signatures(2, 16);
  simulation.optimizer.learning_rate = 1;
  const Outcome outcome = run_to_end(simulation);
  EXPECT_NEAR(outcome.models[0][0], -6.0 / 8 / 3, 1e-6);
  EXPECT_NEAR(outcome.models[0][1], -6.0 / 8 * 2 / 3, 1e-6);
}

TEST(NonBlocking, AQuorumWaitsForMore) {
  sim::Simulation simulation = nonblocking({{"trigger", "quorum:3"}, {"late", "finish"}}, 4, 10);
  const double slowness[] = {1, 1.5, 2.1, 9};
  for (std::size_t i = 0; i < 4; ++i) simulation.cluster.workers[i].speed = 1 / slowness[i];
  const record::RunRecord run = sim::simulate(simulation);
  EXPECT_NEAR(seconds(run), 10 * 2.25, 1e-6);  // the third at 2.1, then the second piece of the fourth
}

TEST(NonBlocking, ADeadlineEndsTheStepOfEach) {
  sim::Simulation simulation = nonblocking({{"trigger", "deadline:600ms"}, {"late", "drop"}}, 3, 10);
  simulation.cluster.workers[2].speed = 2;  // is done after half a second
  const record::RunRecord run = sim::simulate(simulation);
  EXPECT_NEAR(seconds(run), 10 * 0.6, 1e-6);
  EXPECT_EQ(run.ranks[0].journal.samples, run.ranks[2].journal.samples / 2);
}

// A quorum of more workers than live is one of all that do.
TEST(NonBlocking, AQuorumShrinksWithTheLiving) {
  sim::Simulation simulation = nonblocking({{"trigger", "quorum:4"}}, 4, 10);
  simulation.cluster.faults.push_back(
      {.kind = cluster::Fault::Kind::kKill, .subject = 1, .from = Time(std::chrono::milliseconds(2500))});
  const record::RunRecord run = sim::simulate(simulation);
  EXPECT_EQ(run.ranks[0].journal.steps, 10U);
  EXPECT_EQ(run.ranks[3].journal.samples, run.ranks[0].journal.samples);
}

// A worker that stands still for good does not hold up the others when its pieces are dropped.
TEST(NonBlocking, DroppingGoesOnWithoutAWorkerThatPauses) {
  sim::Simulation simulation = nonblocking({{"late", "drop"}}, 3, 10);
  simulation.cluster.faults.push_back({.kind = cluster::Fault::Kind::kPause,
                                       .subject = 2,
                                       .from = Time(std::chrono::milliseconds(3300)),
                                       .to = Time(std::chrono::seconds(1000))});
  const record::RunRecord run = sim::simulate(simulation);
  EXPECT_NEAR(seconds(run), 10, 1e-6);
}

// x_i <- sum_j W_ij x_j - eta A_i / m_i: where a gradient does not depend on its samples, the models are
// those of the base, however many pieces each worker has finished.
TEST(NonBlocking, ModelsAreMixedAsByTheBase) {
  for (const std::string base : {"dpsgd", "matcha"}) {
    for (const char* const late : {"avoid", "finish", "drop"}) {
      sim::Simulation simulation = nonblocking({{"base", base}, {"late", late}}, 6);
      simulation.cluster.workers[0].speed = 1 / 2.1;
      simulation.workload = testing::signatures(6, 16);
      simulation.spread = 1;
      const Outcome own = run_to_end(simulation);
      EXPECT_LT(own.run.ranks[0].journal.samples, own.run.ranks[3].journal.samples * 2 / 3);
      simulation.strategy = &find_strategy(base);
      simulation.options = {};
      EXPECT_EQ(own.models, run_to_end(simulation).models) << base << " " << late;
    }
  }
}

// In D-PSGD a straggler slows its neighbours, and these theirs.
TEST(NonBlocking, OneSlowWorkerHardlyDelaysAGraph) {
  for (const std::string base : {"dpsgd", "matcha"}) {
    sim::Simulation simulation = nonblocking({{"base", base}}, 8, 40);
    simulation.cluster.workers[0].speed = 1 / 4.1;
    const record::RunRecord own = sim::simulate(simulation);
    simulation.strategy = &find_strategy(base);
    simulation.options = {};
    const record::RunRecord reference = sim::simulate(simulation);
    EXPECT_GT(seconds(reference), 40 * 4) << base;
    EXPECT_LT(seconds(own), 40 * 1.3) << base;
    EXPECT_EQ(own.ranks[4].journal.steps, 40U);
    EXPECT_GT(own.ranks[4].journal.samples, reference.ranks[4].journal.samples * 9 / 10);
  }
}

// Averages preserve the sum, and a step takes 3^6 off the worker's own element: all numbers are exact.
TEST(NonBlocking, GroupsLoseNoUpdate) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const int workers = 2 + static_cast<int>(seed % 3);
    sim::Simulation simulation = nonblocking({{"base", "ripples"}}, workers, 1 + seed % 3);
    simulation.seed = seed;
    for (auto& worker : simulation.cluster.workers)
      worker.jitter = {cluster::Jitter::Kind::kLognormal, 0.7, 0};
    simulation.workload = testing::signatures(workers, 16);
    simulation.optimizer.learning_rate = 729;
    const testing::Models models = run_to_end(simulation).models;
    for (std::size_t i = 0; i < models.size(); ++i) {
      double sum = 0;
      for (const auto& model : models) sum += static_cast<double>(model[i]);
      ASSERT_EQ(sum, -729.0 * static_cast<double>(simulation.steps)) << "seed " << seed;
    }
  }
}

// A worker that is called comes with what it has: all make about as many steps, and nobody waits longer than
// a piece of the slow one takes.
TEST(NonBlocking, AWorkerIsCalledToItsGroup) {
  sim::Simulation simulation = nonblocking({{"base", "ripples"}, {"group-size", "4"}}, 4, 1'000);
  simulation.until = Time(std::chrono::seconds(100));
  simulation.cluster.workers[0].speed = 1 / 4.1;
  const record::RunRecord run = sim::simulate(simulation);
  const std::uint64_t steps = run.ranks[3].journal.steps;
  EXPECT_GT(steps, 75U);
  EXPECT_GT(run.ranks[0].journal.steps, steps * 9 / 10);
  const double batch = static_cast<double>(simulation.workload->batch());
  EXPECT_NEAR(static_cast<double>(run.ranks[0].journal.samples) / batch, 100 / 4.1, 3);
  EXPECT_LT(seconds_of(run.ranks[0].journal.waiting), 10);
  EXPECT_LT(seconds_of(run.ranks[3].journal.waiting), 0.6 / 4 * static_cast<double>(steps));
}

TEST(NonBlocking, RefusesWhatTheBaseHasNot) {
  for (const OptionTexts& options :
       {OptionTexts{{"base", "ripples"}, {"trigger", "all"}},
        OptionTexts{{"base", "ripples"}, {"late", "drop"}}, OptionTexts{{"graph", "ring"}},
        OptionTexts{{"base", "dpsgd"}, {"budget", "0.5"}},
        OptionTexts{{"base", "dpsgd"}, {"weights", "workers"}},
        OptionTexts{{"base", "matcha"}, {"algorithm", "ring"}},
        OptionTexts{{"base", "dpsgd"}, {"graph", "star"}}, OptionTexts{{"base", "ring"}, {"group-size", "2"}},
        OptionTexts{{"base", "allreduce"}}}) {
    EXPECT_THROW(sim::simulate(simulation_of("nonblocking", options, 4)), InvalidArgument);
  }
}

TEST(NonBlocking, TenThousandClustersWithoutADeadlock) {
  const char* const triggers[] = {"first", "quorum:2", "deadline:50ms", "all"};
  const char* const lates[] = {"avoid", "finish", "drop"};
  const char* const bases[] = {"ring", "ring", "dpsgd", "matcha", "ripples"};
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    Random random(seed);
    const int workers = random.between(2, 5);
    const std::string base = bases[random.below(5)];
    OptionTexts options{{"base", base}, {"pieces", std::to_string(random.between(1, 5))}};
    if (base != "ripples") options["trigger"] = triggers[random.below(4)];
    if (base != "ripples") options["late"] = lates[random.below(3)];
    sim::Simulation simulation = simulation_of("nonblocking", options, workers);
    simulation.seed = seed;
    simulation.steps = 4;
    for (auto& worker : simulation.cluster.workers) {
      worker.speed = 0.2 + 1.8 * random.uniform();
      worker.jitter = {cluster::Jitter::Kind::kExponential, 0, 0};
    }
    if (random.chance(0.5)) {
      simulation.cluster.faults.push_back({.kind = cluster::Fault::Kind::kKill,
                                           .subject = random.between(0, workers - 1),
                                           .from = Time(std::chrono::milliseconds(random.between(0, 400)))});
    }
    const Outcome outcome = run_to_end(simulation);
    const std::vector<float>* model = nullptr;
    for (std::size_t rank = 0; rank < outcome.models.size(); ++rank) {
      if (!outcome.run.ranks[rank].ended.empty()) continue;
      if (base == "ripples") continue;
      EXPECT_EQ(outcome.run.ranks[rank].journal.steps, 4U) << "seed " << seed;
      EXPECT_TRUE(base != "ring" || model == nullptr || *model == outcome.models[rank]) << "seed " << seed;
      model = &outcome.models[rank];
    }
  }
}

}  // namespace
}  // namespace starling::strategy
