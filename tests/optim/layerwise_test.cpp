#include "starling/optim/layerwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "starling/core/error.h"
#include "starling/core/random.h"
#include "tests/optim/layerwise_values.h"
#include "tests/optim/torch_values.h"

namespace starling::optim {
namespace {

using ::testing::HasSubstr;
using testing::layerwise_gradients;
using testing::layerwise_rates;
using testing::layerwise_runs;
using testing::layerwise_start;
using testing::layerwise_tensors;
using testing::LayerwiseRun;

using LayerwiseKind = OptimizerSpec::Kind;

std::unique_ptr<Optimizer> for_values(const OptimizerSpec& spec) {
  return make_optimizer(spec, layerwise_start().size(), layerwise_tensors());
}

TEST(Layerwise, HasTheBitsOfTheReferenceAfterEveryStep) {
  const auto gradients = layerwise_gradients();
  const auto rates = layerwise_rates();
  for (const LayerwiseRun& run : layerwise_runs()) {
    SCOPED_TRACE(run.name);
    std::vector<float> x = layerwise_start();
    const auto optimizer = for_values(run.spec);
    for (std::size_t step = 0; step < gradients.size(); ++step) {
      optimizer->set_learning_rate(rates[step]);
      optimizer->step(x, gradients[step]);
      EXPECT_EQ(x, run.path[step]) << "step " << step;
    }
    const auto state = optimizer->state();
    ASSERT_EQ(state.size(), run.state.size());
    for (std::size_t i = 0; i < state.size(); ++i)
      EXPECT_EQ(std::vector<float>(state[i].begin(), state[i].end()), run.state[i]) << "vector " << i;
  }
}

// Worked out in float64 from the papers' equations, independently of the script above.
const std::vector<std::vector<float>> kThreeGradients = {
    {.1F, -.2F, .3F}, {.05F, .1F, -.15F}, {-.2F, .4F, .1F}};

void expect_path(OptimizerSpec spec, const std::vector<double>& rates,
                 const std::vector<std::vector<double>>& path) {
  const auto optimizer = make_optimizer(spec, 3, {{{0, 3}}});
  std::vector<float> x = {.5F, -1, 2};
  for (std::size_t step = 0; step < rates.size(); ++step) {
    optimizer->set_learning_rate(rates[step]);
    optimizer->step(x, kThreeGradients[step]);
    for (std::size_t i = 0; i < path[step].size(); ++i)
      EXPECT_NEAR(x[i], path[step][i], 3e-7) << "step " << step << ", element " << i;
  }
}

TEST(Lars, FollowsThePaper) {
  const std::vector<std::vector<double>> path = {{.487882237, -.975764474, 1.963069675},
                                                 {.465212558, -.973296636, 1.957778034},
                                                 {.453895447, -.989226840, 1.947454012}};
  expect_path({.kind = LayerwiseKind::kLars, .weight_decay = .01, .momentum = .9, .trust = .02}, {1, 1, .5},
              path);
}

TEST(Lars, FollowsThePaperWithNesterov) {
  const std::vector<std::vector<double>> last = {{}, {}, {.444234929, -1.002688761, 1.937169080}};
  expect_path(
      {.kind = LayerwiseKind::kLars, .weight_decay = .01, .momentum = .9, .nesterov = true, .trust = .02},
      {1, 1, .5}, last);
}

TEST(Lamb, FollowsThePaper) {
  const std::vector<std::vector<double>> path = {{.486858719, -.986793274, 1.986662492},
                                                 {.465953654, -.980631243, 1.980277380},
                                                 {.473148974, -.996596247, 1.966016563}};
  expect_path({.kind = LayerwiseKind::kLamb, .weight_decay = .01, .epsilon = 1e-6}, {.01, .01, .01}, path);
}

TEST(Layerwise, TheScaleOfTheGradientsChangesNothing) {
  for (const OptimizerSpec& spec : {OptimizerSpec{.kind = LayerwiseKind::kLars, .momentum = .9, .trust = .02},
                                    OptimizerSpec{.kind = LayerwiseKind::kLamb, .epsilon = 0}}) {
    const auto small = make_optimizer(spec, 3, {{{0, 3}}}), large = make_optimizer(spec, 3, {{{0, 3}}});
    std::vector<float> x = {.5F, -1, 2}, y = x;
    for (std::vector<float> gradient : kThreeGradients) {
      small->step(x, gradient);
      for (float& element : gradient) element *= 1024;
      large->step(y, gradient);
      EXPECT_EQ(x, y) << name_of(spec.kind);
    }
  }
}

// PyTorch has no LAMB; where nothing is scaled or decays, it is Adam.
TEST(Lamb, OfExcludedTensorsIsAdam) {
  const auto gradients = testing::torch_gradients();
  for (const auto& run : testing::torch_runs()) {
    if (run.spec.kind != LayerwiseKind::kAdam || run.spec.weight_decay != 0) continue;
    OptimizerSpec spec = run.spec;
    spec.kind = LayerwiseKind::kLamb;
    std::vector<float> x = testing::torch_start();
    const auto lamb = make_optimizer(spec, x.size(), {{{0, x.size()}, true}});
    for (std::size_t step = 0; step < gradients.size(); ++step) {
      lamb->step(x, gradients[step]);
      for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], run.path[step][i], 2e-7) << run.name;
    }
    EXPECT_EQ(std::vector<float>(lamb->state()[0].begin(), lamb->state()[0].end()), run.state[0]);
  }
}

// And LARS is SGD, while the rate is constant.
TEST(Lars, OfExcludedTensorsIsSgd) {
  const auto gradients = testing::torch_gradients();
  int compared = 0;
  for (const auto& run : testing::torch_runs()) {
    const OptimizerSpec& sgd = run.spec;
    if (sgd.kind != LayerwiseKind::kSgd || sgd.dampening != 0) continue;
    ++compared;
    // The decay of excluded tensors is left out, so it is added here.
    OptimizerSpec spec = sgd;
    spec.kind = LayerwiseKind::kLars;
    std::vector<float> x = testing::torch_start();
    const auto lars = make_optimizer(spec, x.size(), {{{0, x.size()}, true}});
    for (std::size_t step = 0; step < gradients.size(); ++step) {
      std::vector<float> gradient = gradients[step];
      for (std::size_t i = 0; i < x.size(); ++i) gradient[i] += static_cast<float>(sgd.weight_decay) * x[i];
      lars->step(x, gradient);
      for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], run.path[step][i], 2e-6) << run.name;
    }
  }
  EXPECT_EQ(compared, 3);
}

TEST(Layerwise, WholeTensorsInAnyOrderEqualTheWhole) {
  const Tensors tensors = layerwise_tensors();
  for (const LayerwiseRun& run : layerwise_runs()) {
    Random random(1);
    std::vector<float> x = layerwise_start(), cut = x;
    const auto whole = for_values(run.spec), parts = for_values(run.spec);
    std::vector<Slice> order = {{0, 9}, {9, 17}, {17, 21}};
    for (const auto& gradient : layerwise_gradients()) {
      whole->step(x, gradient);
      parts->advance();
      random.shuffle(order);
      for (const Slice part : order) parts->apply(part, cut, gradient);
      EXPECT_EQ(x, cut) << run.name;
    }
  }
}

// Pieces sum up in another order, in double; so a ratio may round to another float.
TEST(Layerwise, PiecesOfTensorsNeedTheSquaresOfAll) {
  for (const LayerwiseRun& run : layerwise_runs()) {
    std::vector<float> x = layerwise_start(), cut = x;
    const auto whole = for_values(run.spec), pieces = for_values(run.spec);
    for (const auto& gradient : layerwise_gradients()) {
      whole->step(x, gradient);
      pieces->advance();
      std::vector<double> sums(pieces->squares());
      for (std::size_t part = 0; part < 5; ++part)
        pieces->add_squares(slice_of(x.size(), 5, part), cut, gradient, sums);
      pieces->set_squares(sums);
      for (std::size_t part = 5; part-- > 0;) pieces->apply(slice_of(x.size(), 5, part), cut, gradient);
      for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], cut[i], 1e-6) << run.name;
    }
  }
}

TEST(Layerwise, AskingForTheSquaresTwiceChangesNothing) {
  for (const LayerwiseRun& run : layerwise_runs()) {
    const auto optimizer = for_values(run.spec);
    std::vector<float> x = layerwise_start();
    const std::vector<float> gradient = layerwise_gradients().front();
    optimizer->advance();
    std::vector<double> once(optimizer->squares()), again(optimizer->squares());
    optimizer->add_squares({0, x.size()}, x, gradient, once);
    optimizer->add_squares({0, x.size()}, x, gradient, again);
    EXPECT_EQ(once, again) << run.name;
  }
}

TEST(Layerwise, ClippedGradientsAreScaledBeforeTheRatio) {
  for (LayerwiseRun run : layerwise_runs()) {
    run.spec.clip_norm = 0.25;
    std::vector<float> x = layerwise_start(), by_hand = x;
    const auto clips = for_values(run.spec);
    run.spec.clip_norm = 0;
    const auto plain = for_values(run.spec);
    for (std::vector<float> gradient : layerwise_gradients()) {
      clips->step(x, gradient);
      const auto scale = static_cast<float>(clip_scale(0.25, norm_of(gradient)));
      EXPECT_LT(scale, 1);
      for (float& element : gradient) element *= scale;
      plain->step(by_hand, gradient);
      EXPECT_EQ(x, by_hand) << run.name;
    }
  }
}

TEST(Layerwise, StateAndStepsCarryARunToAnother) {
  const auto gradients = layerwise_gradients();
  for (const LayerwiseRun& run : layerwise_runs()) {
    std::vector<float> x = layerwise_start();
    const auto old = for_values(run.spec), fresh = for_values(run.spec);
    for (int step = 0; step < 3; ++step) old->step(x, gradients[static_cast<std::size_t>(step)]);
    const auto from = old->state(), to = fresh->state();
    for (std::size_t v = 0; v < from.size(); ++v) std::copy(from[v].begin(), from[v].end(), to[v].begin());
    fresh->set_steps(old->steps());
    std::vector<float> copy = x;
    old->step(x, gradients[3]);
    fresh->step(copy, gradients[3]);
    EXPECT_EQ(x, copy) << run.name;
  }
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

TEST(Layerwise, APartThatCutsATensorIsRefused) {
  for (const LayerwiseRun& run : layerwise_runs()) {
    const auto optimizer = for_values(run.spec);
    std::vector<float> x = layerwise_start();
    const std::vector<float> gradient = layerwise_gradients().front();
    optimizer->advance();
    EXPECT_THAT(refusal_of([&] {
                  optimizer->apply({6, 12}, x, gradient);
                }),
                HasSubstr("the elements [6, 12), which cut the tensor [9, 17); allowed: whole tensors"));
    EXPECT_EQ(x, layerwise_start()) << "nothing was updated";
    EXPECT_EQ(refusal_of([&] { optimizer->apply({6, 9}, x, gradient); }), "accepted");
    EXPECT_EQ(refusal_of([&] { optimizer->apply({12, 12}, x, gradient); }), "accepted");
    // The squares of a step are those of this step only.
    optimizer->set_squares(std::vector<double>(optimizer->squares(), 1));
    optimizer->apply({9, 12}, x, gradient);
    optimizer->advance();
    EXPECT_THAT(refusal_of([&] { optimizer->apply({12, 17}, x, gradient); }), HasSubstr("cut the tensor"));
  }
}

TEST(Layerwise, TensorsThatDoNotCoverTheVectorAreRefused) {
  for (const LayerwiseKind kind : {LayerwiseKind::kLars, LayerwiseKind::kLamb}) {
    const auto make = [&](Tensors tensors) {
      return refusal_of([&] { make_optimizer({.kind = kind}, 4, std::move(tensors)); });
    };
    EXPECT_THAT(make({}), HasSubstr(concat(name_of(kind),
                                           " scales by tensor, and the 0 tensors it was given cover "
                                           "0 of 4 elements; allowed: ")));
    EXPECT_THAT(make({{{0, 3}}}), HasSubstr("cover 3 of 4"));
    EXPECT_THAT(make({{{0, 2}}, {{3, 4}}}), HasSubstr("cover 2 of 4"));
    EXPECT_THAT(make({{{0, 2}}, {{1, 4}}}), HasSubstr("cover 2 of 4"));
    EXPECT_THAT(make({{{0, 4}}, {{4, 6}}}), HasSubstr("cover 6 of 4"));
    EXPECT_EQ(make({{{0, 1}}, {{1, 1}}, {{1, 4}}}), "accepted");
  }
}

TEST(Layerwise, BadValuesAreRefused) {
  const auto lars = [](OptimizerSpec spec) {
    spec.kind = LayerwiseKind::kLars;
    return refusal_of([&] { check(spec); });
  };
  EXPECT_EQ(lars({.trust = -1}), "trust coefficient is -1; allowed: a finite number, 0 or more");
  EXPECT_THAT(lars({.nesterov = true}), HasSubstr("momentum above 0"));
  EXPECT_EQ(lars({.momentum = 0.9, .dampening = 0.5, .nesterov = true}), "accepted") << "it has no dampening";
  EXPECT_THAT(refusal_of([] { check({.kind = LayerwiseKind::kLamb, .beta2 = 1}); }), HasSubstr("beta2 is 1"));
  const auto optimizer = for_values({.kind = LayerwiseKind::kLars});
  const std::vector<double> sums(3);
  EXPECT_THAT(refusal_of([&] { optimizer->set_squares(sums); }), HasSubstr("3 sums of squares; allowed: 8"));
}

}  // namespace
}  // namespace starling::optim
