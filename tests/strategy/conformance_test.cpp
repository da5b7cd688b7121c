// The tests that every strategy must pass, for every registry entry and every variant that it names.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "starling/core/error.h"
#include "tests/strategy/registered_cases.h"

namespace starling::strategy {
namespace {

using testing::Models;
using testing::Outcome;
using testing::run_to_end;
using testing::simulation_of;

class Conformance : public ::testing::TestWithParam<RegisteredCase> {
 protected:
  const StrategyEntry& row() const { return *GetParam().row; }
  Options options() const { return options_of(GetParam()); }

  sim::Simulation simulation(int workers) const { return simulation_of(row(), GetParam().options, workers); }

  bool possible_with(int workers) const { return possible(GetParam(), workers); }
  bool workers_depend_on_the_fastest() const {
    const std::unique_ptr<Strategy> strategy = row().make(options(), 2);
    return strategy->pieces() > 1 || !strategy->equal_batches();
  }

  sim::Simulation random_simulation(std::uint64_t seed) const {
    return random_simulation_of(GetParam(), seed);
  }
};

// Strategies that are plain SGD on one worker, whose bytes are known beforehand, that preserve the mean of
// the models, that keep all models equal.
class Single : public Conformance {};
class Counted : public Conformance {};
class Mixing : public Conformance {};
class Equal : public Conformance {};

INSTANTIATE_TEST_SUITE_P(Strategies, Conformance,
                         ::testing::ValuesIn(cases_where([](const RegisteredCase&) { return true; })),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Strategies, Single, ::testing::ValuesIn(cases_where([](const RegisteredCase& which) {
                           return possible(which, 1) && !moves_models(*which.row, options_of(which));
                         })),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Strategies, Counted,
                         ::testing::ValuesIn(cases_where([](const RegisteredCase& which) {
                           return which.row
                               ->bytes_sent(options_of(which), {.workers = 2, .elements = 16, .steps = 10}, 0)
                               .has_value();
                         })),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Strategies, Mixing, ::testing::ValuesIn(cases_where([](const RegisteredCase& which) {
                           return which.row->promises.conserves_mean &&
                                  !moves_models(*which.row, options_of(which));
                         })),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Strategies, Equal, ::testing::ValuesIn(cases_where([](const RegisteredCase& which) {
                           return has_equal_models(*which.row, options_of(which));
                         })),
                         case_name);

TEST_P(Conformance, SameSeedSameBits) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Outcome first = run_to_end(random_simulation(seed)), second = run_to_end(random_simulation(seed));
    EXPECT_EQ(first.models, second.models);
    EXPECT_EQ(first.run.duration, second.run.duration);
    EXPECT_EQ(first.run.events, second.run.events);
    EXPECT_EQ(first.run.final_train_loss, second.run.final_train_loss);
  }
}

TEST_P(Single, WorkerIsPlainSgd) {
  sim::Simulation simulation = this->simulation(1);
  simulation.optimizer.momentum = 0.9;
  simulation.optimizer.weight_decay = 1e-3;
  simulation.steps = 50;
  const Outcome tested = run_to_end(simulation);
  simulation.strategy = &testing::alone();
  simulation.options.clear();
  EXPECT_EQ(tested.models, run_to_end(simulation).models);
}

// Every worker makes all its steps; a deadlock throws with the list of waits. The bound on the time: a
// strategy may at worst wait for the slowest worker in every step, and once for each pause.
TEST_P(Conformance, ThousandSeedsMakeProgress) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const sim::Simulation simulation = random_simulation(seed);
    SCOPED_TRACE(concat("seed ", seed));
    if (!possible_with(static_cast<int>(simulation.cluster.workers.size()))) continue;
    const record::RunRecord run = sim::simulate(simulation);
    double bound = 0;  // seconds of computing by all workers one after the other
    for (const record::RankRecord& record : run.ranks) {
      EXPECT_EQ(record.ended, "");
      ASSERT_EQ(record.journal.steps, record.trains ? simulation.steps : 0) << "rank " << record.rank;
      for (const record::Span& span : record.journal.spans) {
        if (span.activity == record::Activity::kCompute) {
          bound += std::chrono::duration<double>(span.end - span.begin).count();
        }
      }
    }
    const double transfers = 0.01 * static_cast<double>(simulation.steps);
    EXPECT_LE(std::chrono::duration<double>(run.duration).count(), bound + transfers);
  }
}

// Where all workers have the same model, those that are left have. Two die, at times that may fall into the
// middle of dealing with the first death.
TEST_P(Equal, SurvivorsHaveTheSameBits) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    sim::Simulation simulation = random_simulation(seed);
    SCOPED_TRACE(concat("seed ", seed));
    const int workers = static_cast<int>(simulation.cluster.workers.size());
    if (workers < 3 || !possible_with(workers)) continue;
    simulation.optimizer.momentum = 0.9;
    const Duration whole = sim::simulate(simulation).duration;
    Random random(seed + 3'000'000);
    const bool server_beside = row().make(options(), workers)->service() == Placement::kBesideWorker0;
    const Rank first = random.between(2, workers - 1);
    const Rank second = random.chance(0.5) && !server_beside ? 0 : first - 1;
    const Time at(
        Duration(static_cast<Duration::rep>(random.uniform() * static_cast<double>(whole.count()))));
    const Duration later = std::chrono::microseconds(random.between(0, 2000));
    simulation.cluster.faults.push_back({.kind = cluster::Fault::Kind::kKill, .subject = first, .from = at});
    simulation.cluster.faults.push_back(
        {.kind = cluster::Fault::Kind::kKill, .subject = second, .from = at + later});
    const Outcome outcome = run_to_end(simulation);
    const std::vector<float>* model = nullptr;
    for (Rank rank = 0; rank < workers; ++rank) {
      if (rank == first || rank == second) continue;
      const auto index = static_cast<std::size_t>(rank);
      EXPECT_EQ(outcome.run.ranks[index].ended, "");
      EXPECT_EQ(outcome.run.ranks[index].journal.steps, simulation.steps);
      if (model != nullptr) {
        EXPECT_EQ(*model, outcome.models[index]) << "rank " << rank;
      }
      model = &outcome.models[index];
    }
  }
}

// Kills a worker at a random time; the others do what the row promises, in bounded time.
TEST_P(Conformance, AWorkerDies) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    sim::Simulation simulation = random_simulation(seed);
    SCOPED_TRACE(concat("seed ", seed));
    const int workers = static_cast<int>(simulation.cluster.workers.size());
    if (!possible_with(workers)) continue;
    const Duration whole = sim::simulate(simulation).duration;
    Random random(seed + 1'000'000);
    const Rank victim = random.between(0, workers - 1);
    const Time at(
        Duration(static_cast<Duration::rep>(random.uniform() * static_cast<double>(whole.count()))));
    simulation.cluster.faults.push_back({.kind = cluster::Fault::Kind::kKill, .subject = victim, .from = at});
    const record::RunRecord run = sim::simulate(simulation);
    const bool server_dies =
        row().make(options(), workers)->service() == Placement::kBesideWorker0 && victim == 0;
    for (const record::RankRecord& record : run.ranks) {
      if (!record.trains || record.rank == victim) continue;
      if (row().promises.on_loss == OnLoss::kGoesOn && !server_dies) {
        EXPECT_EQ(record.ended, "");
        EXPECT_EQ(record.journal.steps, simulation.steps) << "worker " << record.rank;
      } else if (record.journal.steps < simulation.steps) {
        EXPECT_NE(record.ended.find(" lost"), std::string::npos) << record.ended;
      }
    }
    // No worker lives much longer than it would have: a wait that never ends would be a deadlock. But if the
    // fastest worker sets the pace, or does most of the work, the rest takes what it takes without it.
    Duration expected = whole;
    if (workers_depend_on_the_fastest()) {
      simulation.cluster.faults.back().from = Time{};
      expected = std::max(whole, sim::simulate(simulation).duration);
    }
    EXPECT_LE(run.duration, 2 * expected + std::chrono::seconds(1));
  }
}

TEST_P(Counted, BytesAreAsStated) {
  for (const int workers : {2, 3, 4, 8}) {
    if (!possible_with(workers)) continue;
    const record::RunRecord run = sim::simulate(simulation(workers));
    for (Rank rank = 0; rank < workers; ++rank) {
      const auto stated =
          row().bytes_sent(options(), {.workers = workers, .elements = 16, .steps = 10}, rank);
      EXPECT_EQ(run.ranks[static_cast<std::size_t>(rank)].bytes_sent, stated)
          << "rank " << rank << " of " << workers;
    }
  }
}

// Without learning equal models stay as they are, up to the rounding of a sum and its division.
TEST_P(Conformance, NothingMovesWithoutLearning) {
  for (const int workers : {2, 3, 5, 8}) {
    if (!possible_with(workers)) continue;
    sim::Simulation simulation = this->simulation(workers);
    simulation.workload = sim::make_workload("mlp", {.workers = workers}, "workload");
    simulation.optimizer.learning_rate = 0;
    const Outcome after = run_to_end(simulation);
    simulation.strategy = &testing::alone();
    simulation.options.clear();
    const Outcome before = run_to_end(simulation);
    const bool groups = options().values().count("group-size") > 0;  // of three, for example
    const bool weighted = !row().make(options(), workers)->equal_batches();
    const bool exact = std::has_single_bit(static_cast<unsigned>(workers)) && !groups && !weighted;
    for (std::size_t rank = 0; rank < after.models.size(); ++rank) {
      if (exact) {
        EXPECT_EQ(after.models[rank], before.models[rank]);
      }
      for (std::size_t i = 0; i < after.models[rank].size(); ++i) {
        const float was = before.models[rank][i];
        EXPECT_NEAR(after.models[rank][i], was, 1e-6 * std::abs(was));
      }
    }
  }
}

TEST_P(Mixing, ConservesTheMean) {
  for (const int workers : {2, 3, 8}) {
    if (!possible_with(workers)) continue;
    sim::Simulation simulation = this->simulation(workers);
    simulation.optimizer.learning_rate = 0;
    simulation.spread = 1;
    const Outcome after = run_to_end(simulation);
    simulation.strategy = &testing::alone();
    simulation.options.clear();
    const Outcome before = run_to_end(simulation);
    for (std::size_t i = 0; i < after.models.front().size(); ++i) {
      double sum_after = 0, sum_before = 0, size = 0;
      for (std::size_t rank = 0; rank < after.models.size(); ++rank) {
        sum_after += static_cast<double>(after.models[rank][i]);
        sum_before += static_cast<double>(before.models[rank][i]);
        size += std::abs(static_cast<double>(before.models[rank][i]));
      }
      EXPECT_NEAR(sum_after, sum_before, 1e-6 * size);
    }
  }
}

// Each worker's model as it is when it begins a step.
class ModelsByStep final : public sim::Observer {
 public:
  void step_begins(Rank worker, std::uint64_t step, Time, Models models) override {
    const auto& model = models[static_cast<std::size_t>(worker)];
    begun[step].emplace_back(model.begin(), model.end());
  }
  std::map<std::uint64_t, testing::Models> begun;
};

TEST_P(Equal, ModelsAreEqualBetweenSteps) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    sim::Simulation simulation = random_simulation(seed);
    if (!possible_with(static_cast<int>(simulation.cluster.workers.size()))) continue;
    simulation.optimizer.momentum = 0.9;
    ModelsByStep observer;
    simulation.observer = &observer;
    sim::simulate(simulation);
    EXPECT_EQ(observer.begun.size(), simulation.steps);
    for (const auto& [step, models] : observer.begun) {
      EXPECT_EQ(models.size(), simulation.cluster.workers.size());
      for (const auto& model : models)
        EXPECT_EQ(model, models.front()) << "seed " << seed << ", step " << step;
    }
  }
}

TEST_P(Conformance, GhostsSendTheStatedBytes) {
  sim::Simulation simulation = this->simulation(4);
  simulation.workload = sim::make_workload("replay:resnet50", {.workers = 4}, "workload");
  simulation.steps = 3;
  const record::RunRecord run = sim::simulate(simulation);
  EXPECT_FALSE(run.final_train_loss);
  for (const record::RankRecord& record : run.ranks) {
    if (!record.trains) continue;
    EXPECT_EQ(record.journal.steps, 3U);
    const auto stated = row().bytes_sent(
        options(), {.workers = 4, .elements = simulation.workload->parameters(), .steps = 3}, record.rank);
    EXPECT_EQ(record.bytes_sent, stated.value_or(record.bytes_sent));
  }
}

TEST(Registry, WhereModelsMayDifferIsNamed) {
  const StrategyEntry& ps = find_strategy("ps");
  check_equal_models(ps, Options::parse(ps.options, ps.name, {}));
  try {
    check_equal_models(ps, Options::parse(ps.options, ps.name, {{"mode", "asp"}}));
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "strategy ps with mode=asp: the workers' models may differ between steps; allowed: "
                 "allreduce, dear, local-sgd with period=1, ps, nonblocking");
  }
}

TEST(Registry, RowsAreComplete) {
  for (const StrategyEntry& row : registry()) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(&find_strategy(row.name), &row);
    EXPECT_FALSE(row.summary.empty());
    EXPECT_FALSE(row.promises.staleness.empty());
    EXPECT_FALSE(row.promises.waits_for.empty());
    EXPECT_FALSE(row.promises.bytes.empty());
    EXPECT_FALSE(row.variants.empty());
    EXPECT_TRUE(row.make && row.bytes_sent);
    for (const OptionSpec& option : row.options) EXPECT_FALSE(option.help.empty()) << option.name;
    Options::parse(row.options, row.name, {});
  }
}

}  // namespace
}  // namespace starling::strategy
