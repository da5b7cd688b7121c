#include "starling/optim/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "starling/core/error.h"
#include "starling/core/random.h"
#include "tests/optim/torch_values.h"

namespace starling::optim {
namespace {

using ::testing::HasSubstr;
using testing::torch_gradients;
using testing::torch_runs;
using testing::torch_start;

using OptimizerKind = OptimizerSpec::Kind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const OptimizerSpec kAdamW{.kind = OptimizerKind::kAdamW};

std::string refusal(const OptimizerSpec& spec) {
  try {
    make_optimizer(spec, 1);
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

std::vector<float> random_vector(Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

TEST(Optimizer, PartsInAnyOrderEqualTheWhole) {
  constexpr std::size_t kCount = 103;
  for (const auto& run : torch_runs()) {
    Random random(1);
    std::vector<float> x = random_vector(random, kCount), cut = x;
    const auto whole = make_optimizer(run.spec, kCount), parts = make_optimizer(run.spec, kCount);
    std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5, 6};
    for (int step = 0; step < 4; ++step) {
      const std::vector<float> gradient = random_vector(random, kCount);
      whole->step(x, gradient);
      parts->advance();
      random.shuffle(order);
      for (const std::size_t part : order) parts->apply(slice_of(kCount, order.size(), part), cut, gradient);
      EXPECT_EQ(x, cut) << run.name << ", step " << step;
    }
  }
}

TEST(Optimizer, APartLeavesTheRestAlone) {
  for (const auto& run : torch_runs()) {
    const auto optimizer = make_optimizer(run.spec, 4);
    std::vector<float> x = {1, 2, 3, 4};
    const std::vector<float> gradient = {1, 1, 1, 1};
    optimizer->advance();
    optimizer->apply({1, 3}, x, gradient);
    EXPECT_EQ(x[0], 1) << run.name;
    EXPECT_NE(x[1], 2) << run.name;
    EXPECT_NE(x[2], 3) << run.name;
    EXPECT_EQ(x[3], 4) << run.name;
  }
}

TEST(Optimizer, PlainSgdIsOneMultiplicationAndOneSubtraction) {
  Random random(2);
  const std::vector<float> before = random_vector(random, 1000), gradient = random_vector(random, 1000);
  std::vector<float> x = before;
  make_optimizer({.learning_rate = 0.3}, 1000)->step(x, gradient);
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(x[i], before[i] - 0.3f * gradient[i]);
}

TEST(Optimizer, StateAndStepsCarryARunToAnother) {
  const auto gradients = torch_gradients();
  for (const auto& run : torch_runs()) {
    std::vector<float> x = torch_start();
    const auto old = make_optimizer(run.spec, x.size()), fresh = make_optimizer(run.spec, x.size());
    for (int step = 0; step < 3; ++step) old->step(x, gradients[step]);
    EXPECT_EQ(old->steps(), 3u);

    const auto from = old->state(), to = fresh->state();
    for (std::size_t v = 0; v < from.size(); ++v) std::copy(from[v].begin(), from[v].end(), to[v].begin());
    fresh->set_steps(old->steps());
    std::vector<float> copy = x;
    old->step(x, gradients[3]);
    fresh->step(copy, gradients[3]);
    EXPECT_EQ(x, copy) << run.name;
  }
}

TEST(Optimizer, StateHasOneVectorPerMoment) {
  EXPECT_EQ(make_optimizer({}, 5)->state().size(), 0u);
  const auto momentum = make_optimizer({.momentum = 0.9}, 5), adamw = make_optimizer(kAdamW, 5);
  ASSERT_EQ(momentum->state().size(), 1u);
  ASSERT_EQ(adamw->state().size(), 2u);
  for (const auto vector : adamw->state()) EXPECT_EQ(vector.size(), 5u);
  EXPECT_EQ(make_optimizer({.momentum = 0.9}, 0)->state().size(), 1u);
}

TEST(Optimizer, TheLearningRateCanChange) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    const auto optimizer = make_optimizer({.kind = kind, .learning_rate = 0.5}, 1);
    EXPECT_EQ(optimizer->learning_rate(), 0.5);
    optimizer->set_learning_rate(0);
    EXPECT_EQ(optimizer->learning_rate(), 0);
    std::vector<float> x = {1};
    const std::vector<float> gradient = {3};
    optimizer->step(x, gradient);
    EXPECT_EQ(x[0], 1);
    optimizer->set_learning_rate(0.25);
    optimizer->step(x, gradient);
    EXPECT_NEAR(x[0], kind == OptimizerKind::kSgd ? 0.25 : 0.75, 1e-6);
    for (const double bad : {-0.1, kNan, kInfinity}) {
      EXPECT_THROW(optimizer->set_learning_rate(bad), InvalidArgument);
    }
    EXPECT_EQ(optimizer->learning_rate(), 0.25);
  }
}

TEST(Optimizer, VectorsOfTheWrongSizeAreRefused) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    const auto optimizer = make_optimizer({.kind = kind}, 3);
    std::vector<float> two(2), three(3);
    EXPECT_THROW(optimizer->apply({0, 3}, three, three), InvalidArgument) << "before advance()";
    EXPECT_THROW(optimizer->step(two, three), InvalidArgument);
    EXPECT_THROW(optimizer->step(three, two), InvalidArgument);
    EXPECT_THROW(optimizer->apply({0, 4}, three, three), InvalidArgument);
    EXPECT_THROW(optimizer->apply({2, 1}, three, three), InvalidArgument);
    EXPECT_NO_THROW(optimizer->apply({3, 3}, three, three));
  }
}

TEST(OptimizerSpec, BadRatesAreRefused) {
  EXPECT_EQ(refusal({.learning_rate = -0.5}), "learning rate is -0.5; allowed: a finite number, 0 or more");
  EXPECT_THAT(refusal({.learning_rate = kNan}), HasSubstr("learning rate is nan"));
  EXPECT_THAT(refusal({.kind = OptimizerKind::kAdamW, .learning_rate = -1}),
              HasSubstr("learning rate is -1"));
  EXPECT_THAT(refusal({.weight_decay = -1}), HasSubstr("weight decay is -1"));
  EXPECT_THAT(refusal({.weight_decay = kInfinity}), HasSubstr("weight decay is inf"));
  EXPECT_EQ(refusal({.learning_rate = 0}), "accepted");
}

TEST(OptimizerSpec, BadMomentumIsRefused) {
  EXPECT_THAT(refusal({.momentum = -0.1}), HasSubstr("momentum is -0.1"));
  EXPECT_THAT(refusal({.momentum = kNan}), HasSubstr("momentum is nan"));
  EXPECT_THAT(refusal({.momentum = 0.9, .dampening = kNan}), HasSubstr("dampening is nan"));
  EXPECT_THAT(refusal({.nesterov = true}), HasSubstr("nesterov with momentum 0 and dampening 0"));
  EXPECT_EQ(refusal({.momentum = 0.9, .dampening = 0.1, .nesterov = true}),
            "nesterov with momentum 0.9 and dampening 0.1; allowed: momentum above 0 and dampening 0");
  EXPECT_EQ(refusal({.momentum = 0.9, .nesterov = true}), "accepted");
}

TEST(OptimizerSpec, BadMomentsAreRefused) {
  for (const double bad : {-0.1, 1.0, 1.5, kNan}) {
    OptimizerSpec first = kAdamW, second = kAdamW;
    first.beta1 = second.beta2 = bad;
    EXPECT_THAT(refusal(first), HasSubstr(concat("beta1 is ", bad, "; allowed")));
    EXPECT_THAT(refusal(second), HasSubstr(concat("beta2 is ", bad, "; allowed")));
  }
  for (const double bad : {-1e-9, kNan}) {
    EXPECT_THAT(refusal({.kind = OptimizerKind::kAdamW, .epsilon = bad}), HasSubstr("epsilon is "));
  }
  EXPECT_EQ(refusal({.kind = OptimizerKind::kAdamW, .beta1 = 0, .beta2 = 0, .epsilon = 0}), "accepted");
}

TEST(OptimizerSpec, OnlyWhatTheKindUsesIsChecked) {
  EXPECT_EQ(refusal({.kind = OptimizerKind::kAdamW, .momentum = -1, .nesterov = true}), "accepted");
  EXPECT_EQ(refusal({.kind = OptimizerKind::kSgd, .beta1 = 2}), "accepted");
}

TEST(OptimizerSpec, NamesAreReadBack) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW,
                                   OptimizerKind::kLars, OptimizerKind::kLamb})
    EXPECT_EQ(parse_optimizer(name_of(kind), "x"), kind);
  EXPECT_EQ(name_of(OptimizerKind::kAdamW), "adamw");
  try {
    parse_optimizer("Adam", "optimizer.kind");
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "optimizer.kind: unknown optimizer 'Adam'; allowed: sgd, adam, adamw, lars, lamb");
  }
}

}  // namespace
}  // namespace starling::optim
