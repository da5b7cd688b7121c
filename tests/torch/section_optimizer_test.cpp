// LibTorch's optimisers on some sections at a time.
#include "starling/torch/section_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "starling/core/error.h"

namespace starling::torch {
namespace {

namespace nn = ::torch::nn;
namespace to = ::torch::optim;
using ::testing::HasSubstr;
using ::torch::Tensor;
using Make = std::function<std::unique_ptr<to::Optimizer>(const std::vector<Tensor>&)>;

struct TwoLayers : nn::Module {
  TwoLayers() {
    ::torch::manual_seed(3);
    first = register_module("first", nn::Linear(3, 4));
    last = register_module("last", nn::Linear(4, 2));
  }
  nn::Linear first{nullptr}, last{nullptr};
};

// A model, its optimiser and gradients that are made up.
struct BoundOptimizer {
  explicit BoundOptimizer(const Make& make, double clip_norm = 0)
      : optimizer(make(net.parameters())), by_section(*optimizer, replica, clip_norm) {
    replica.bind(parameters, gradients);
  }
  void fill(int step) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] = std::sin(static_cast<float>(i) + static_cast<float>(step));
    }
  }
  void set_rate(double rate) {
    for (auto& group : optimizer->param_groups()) group.options().set_lr(rate);
  }

  TwoLayers net;
  Replica replica{net};
  std::vector<float> parameters = replica.values();
  std::vector<float> gradients = std::vector<float>(replica.size());
  std::unique_ptr<to::Optimizer> optimizer;
  SectionOptimizer by_section;
};

const Make kMakes[] = {
    [](const std::vector<Tensor>& all) {
      return std::make_unique<to::SGD>(all,
                                       to::SGDOptions(0.1).momentum(0.9).weight_decay(0.1).nesterov(true));
    },
    [](const std::vector<Tensor>& all) { return std::make_unique<to::Adam>(all, to::AdamOptions(0.1)); },
    [](const std::vector<Tensor>& all) {
      return std::make_unique<to::AdamW>(all, to::AdamWOptions(0.1).amsgrad(true));
    },
    [](const std::vector<Tensor>& all) {
      return std::make_unique<to::Adagrad>(all, to::AdagradOptions(0.1));
    },
    [](const std::vector<Tensor>& all) {
      return std::make_unique<to::RMSprop>(all, to::RMSpropOptions(0.1).momentum(0.5));
    }};

constexpr double kRates[] = {0.1, 0.05, 0.2, 0.01, 0.1};

// The parts are updated when the next rate is set already.
TEST(SectionOptimizer, PartsInAnyOrderAreAStepOfTheWhole) {
  for (const Make& make : kMakes) {
    BoundOptimizer whole(make), parts(make);
    for (int step = 1; step < 5; ++step) {
      whole.set_rate(kRates[step - 1]);
      whole.fill(step);
      whole.optimizer->step();
      parts.set_rate(kRates[step - 1]);
      parts.fill(step);
      const auto number = static_cast<std::uint64_t>(step);
      parts.by_section.latch(number);
      parts.set_rate(kRates[step]);
      parts.by_section.update({16, 26}, number);
      parts.by_section.update({12, 16}, number);
      parts.by_section.update({0, 12}, number);
      EXPECT_EQ(parts.optimizer->param_groups()[0].options().get_lr(), kRates[step]);
    }
    EXPECT_EQ(parts.parameters, whole.parameters);
  }
}

TEST(SectionOptimizer, APartMayComeWhenTheNextStepIsComputed) {
  BoundOptimizer bound(kMakes[0]), late(kMakes[0]);
  for (BoundOptimizer* const one : {&bound, &late}) one->fill(1);
  bound.by_section.latch(1);
  bound.by_section.update({0, 26}, 1);
  late.by_section.latch(1);
  late.set_rate(0.5);
  late.by_section.latch(2);
  late.by_section.update({0, 26}, 1);
  EXPECT_EQ(late.parameters, bound.parameters);
}

TEST(SectionOptimizer, ClipsOnceAsLibTorchDoes) {
  BoundOptimizer bound(kMakes[0], 0.5), plain(kMakes[0]);
  bound.fill(1);
  plain.fill(1);
  nn::utils::clip_grad_norm_(plain.net.parameters(), 0.5);
  plain.optimizer->step();
  bound.by_section.latch(1);
  bound.by_section.update({16, 26}, 1);
  bound.by_section.update({0, 16}, 1);
  for (std::size_t i = 0; i < plain.parameters.size(); ++i) {
    EXPECT_NEAR(bound.parameters[i], plain.parameters[i], 1e-6) << i;
  }
  BoundOptimizer loose(kMakes[0], 1000), free(kMakes[0]);
  for (BoundOptimizer* const one : {&loose, &free}) {
    one->fill(1);
    one->by_section.latch(1);
    one->by_section.update({0, 26}, 1);
  }
  EXPECT_EQ(loose.parameters, free.parameters);
}

TEST(SectionOptimizer, OthersParametersTakePartInStepsOfTheWholeOnly) {
  Tensor stranger = ::torch::zeros({1}, ::torch::requires_grad());
  BoundOptimizer bound([&](std::vector<Tensor> all) {
    all.push_back(stranger);
    return std::make_unique<to::SGD>(all, to::SGDOptions(1));
  });
  stranger.mutable_grad() = ::torch::ones({1});
  bound.by_section.latch(1);
  bound.by_section.update({0, 26}, 1);
  EXPECT_EQ(stranger.item<float>(), -1);
  try {
    bound.by_section.update({0, 12}, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("not the model's"));
  }
}

}  // namespace
}  // namespace starling::torch
