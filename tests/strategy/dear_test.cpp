// The schedules train as allreduce does. Halving sums each element along one tree of the ranks, wherever the
// vector is cut, so where the workers are a power of two all have the same bits.
#include "starling/strategy/dear.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/strategy/dear_cases.h"

namespace starling::strategy {
namespace {

using optim::OptimizerSpec;
using testing::Models;
using testing::with;

struct Rule {
  std::string name;
  OptimizerSpec spec;
};

std::vector<Rule> rules() {
  using OptimizerKind = OptimizerSpec::Kind;
  return {{"sgd", {.learning_rate = 0.1}},
          {"momentum", {.learning_rate = 0.1, .momentum = 0.9}},
          {"nesterov", {.learning_rate = 0.1, .weight_decay = 0.01, .momentum = 0.9, .nesterov = true}},
          {"adam", {.kind = OptimizerKind::kAdam, .learning_rate = 0.01, .weight_decay = 0.01}},
          {"adamw", {.kind = OptimizerKind::kAdamW, .learning_rate = 0.01, .weight_decay = 0.01}}};
}

struct DearCase {
  std::string workload = "mlp";
  int workers = 4;
  OptimizerSpec optimizer;
  bool uneven = false;
};

Models train(const DearCase& which, const std::string& strategy, const OptionTexts& options) {
  sim::Simulation simulation = testing::simulation_of(strategy, options, which.workers);
  simulation.workload =
      sim::make_workload(which.workload, {.workers = which.workers, .parameters = 37}, "workload");
  simulation.optimizer = which.optimizer;
  simulation.steps = 8;
  if (which.uneven) testing::make_uneven(simulation.cluster);
  return testing::run_to_end(simulation).models;
}

void expect_near(const Models& found, const Models& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    EXPECT_EQ(found[rank], found[0]) << "whatever it is, it is the same for all";
    for (std::size_t i = 0; i < found[rank].size(); ++i) {
      const double wanted = expected[rank][i];
      EXPECT_NEAR(found[rank][i], wanted, tolerance * (1 + std::abs(wanted))) << "element " << i;
    }
  }
}

const OptionTexts kGathers[] = {{{"gather", "weights"}}, {{"gather", "gradients"}}};

class Dear : public ::testing::TestWithParam<Rule> {};
INSTANTIATE_TEST_SUITE_P(Optimizers, Dear, ::testing::ValuesIn(rules()),
                         [](const auto& which) { return which.param.name; });

TEST_P(Dear, HasTheBitsOfAllReduce) {
  for (const char* workload : {"quadratic", "logistic", "mlp"}) {
    for (const int workers : {1, 2, 4, 8}) {
      for (const bool uneven : {false, true}) {
        SCOPED_TRACE(concat(workload, ", ", workers, " workers", uneven ? ", uneven" : ""));
        const DearCase which{workload, workers, GetParam().spec, uneven};
        const Models expected = train(which, "allreduce", {{"algorithm", "halving"}});
        const OptionTexts cut{{"algorithm", "halving"}, {"fusion", "256"}, {"edge", "16"}};
        for (const OptionTexts& gather : kGathers) {
          EXPECT_EQ(train(which, "dear", with(cut, gather)), expected) << gather.at("gather");
        }
      }
    }
  }
}

// Doubling sums in another order than halving.
TEST_P(Dear, IsCloseToAllReduceWithTheForemostSectionsAtOnce) {
  for (const int workers : {2, 4, 8}) {
    DearCase which{"mlp", workers, GetParam().spec, true};
    const Models expected = train(which, "allreduce", {{"algorithm", "halving"}});
    which.optimizer.clip_norm = 0.05;
    const Models clipped = train(which, "allreduce", {{"algorithm", "halving"}});
    for (const char* front : {"64", "32k"}) {
      SCOPED_TRACE(concat(workers, " workers, front ", front));
      const OptionTexts cut{{"fusion", "256"}, {"edge", "16"}, {"front", front}};
      for (const OptionTexts& gather : kGathers) {
        which.optimizer.clip_norm = 0;
        expect_near(train(which, "dear", with(cut, gather)), expected, 2e-5);
        which.optimizer.clip_norm = 0.05;
        expect_near(train(which, "dear", with(cut, gather)), clipped, 2e-5);
      }
    }
  }
}

// The order of the ring's sums depends on where a bucket begins: so this compares the same buckets, the whole
// model in one and each section in one.
TEST_P(Dear, HasTheBitsOfTheRingInTheSameBuckets) {
  for (const int workers : {2, 3, 5}) {
    const DearCase which{"mlp", workers, GetParam().spec, true};
    const OptionTexts ring{{"algorithm", "ring"}};
    const Models whole = train(which, "allreduce", ring);
    const Models cut = train(which, "allreduce", with(ring, {{"schedule", "wfbp"}}));
    if (workers > 2) {
      EXPECT_NE(whole, cut) << "or there is nothing to tell apart";
    }
    for (const OptionTexts& gather : kGathers) {
      const OptionTexts options = with(ring, gather);
      EXPECT_EQ(train(which, "dear", with(options, {{"fusion", "1g"}, {"edge", "1g"}})), whole);
      EXPECT_EQ(train(which, "dear", with(options, {{"fusion", "1"}, {"edge", "1"}})), cut);
    }
  }
}

TEST_P(Dear, IsCloseToAllReduceInAnyBuckets) {
  for (const int workers : {3, 5}) {
    const DearCase which{"mlp", workers, GetParam().spec, false};
    const Models expected = train(which, "allreduce", {{"algorithm", "ring"}});
    for (const OptionTexts& gather : kGathers) {
      const OptionTexts options{{"algorithm", "ring"}, {"fusion", "300"}, {"edge", "16"}};
      expect_near(train(which, "dear", with(options, gather)), expected, 2e-5);
    }
  }
}

// With two workers a sum has one order.
TEST_P(Dear, OfTwoHasTheBitsOfEveryAlgorithm) {
  const DearCase which{"mlp", 2, GetParam().spec, true};
  for (const char* algorithm : {"auto", "ring", "halving", "doubling"}) {
    EXPECT_EQ(train(which, "dear", {}), train(which, "allreduce", {{"algorithm", algorithm}}));
  }
}

// Gathered gradients are clipped as the whole that they are. Where weights are gathered the norm is summed
// slice by slice, in double, and may round to another factor: hence the tolerance.
TEST_P(Dear, ClipsTheWholeGradient) {
  for (const int workers : {1, 2, 4}) {
    DearCase which{"mlp", workers, GetParam().spec, true};
    const Models unclipped = train(which, "allreduce", {{"algorithm", "halving"}});
    which.optimizer.clip_norm = 0.05;
    const Models expected = train(which, "allreduce", {{"algorithm", "halving"}});
    EXPECT_NE(expected, unclipped);
    for (const char* window : {"1", "4"}) {
      const OptionTexts cut{{"algorithm", "halving"}, {"fusion", "256"}, {"edge", "16"}, {"window", window}};
      EXPECT_EQ(train(which, "dear", with(cut, {{"gather", "gradients"}})), expected);
      expect_near(train(which, "dear", with(cut, {{"gather", "weights"}})), expected, 1e-5);
      EXPECT_EQ(
          train(which, "allreduce", {{"schedule", "priority"}, {"fusion", "64"}, {"algorithm", "halving"}}),
          expected);
    }
  }
}

// Some have not begun their first round then, so they have no sums to make.
TEST(DearClip, SurvivesALossInTheFirstStep) {
  for (int ms = 10; ms <= 200; ms += 5) {
    sim::Simulation simulation = testing::simulation_of("dear", {{"gather", "weights"}}, 4);
    simulation.workload = sim::make_workload("mlp", {.workers = 4}, "workload");
    simulation.optimizer = {.learning_rate = 0.1, .momentum = 0.9, .clip_norm = 0.05};
    testing::make_uneven(simulation.cluster);
    simulation.cluster.faults.push_back(
        {.kind = cluster::Fault::Kind::kKill, .subject = 1, .from = Time(std::chrono::milliseconds(ms))});
    const testing::Outcome outcome = testing::run_to_end(simulation);
    EXPECT_EQ(outcome.models[2], outcome.models[0]) << ms << " ms";
    EXPECT_EQ(outcome.models[3], outcome.models[0]) << ms << " ms";
  }
}

}  // namespace
}  // namespace starling::strategy
