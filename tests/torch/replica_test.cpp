// Modules bound to flat memory, and LibTorch's optimisers as flat ones.
#include "starling/torch/replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "starling/core/error.h"
#include "starling/torch/models.h"
#include "starling/torch/optimizer_translation.h"
#include "tests/support/refusal.h"

namespace starling::torch {
namespace {

namespace nn = ::torch::nn;
namespace to = ::torch::optim;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::torch::Tensor;

struct ReplicaNet : nn::Module {
  ReplicaNet() {
    first = register_module("first", nn::Linear(3, 4));
    norm = register_module("norm", nn::BatchNorm1d(4));
    last = register_module("last", nn::Linear(4, 2));
  }
  Tensor forward(const Tensor& x) { return last(norm(first(x))); }
  nn::Linear first{nullptr}, last{nullptr};
  nn::BatchNorm1d norm{nullptr};
};

struct BoundReplica {
  ReplicaNet net;
  Replica replica{net};
  std::vector<float> parameters = replica.values();
  std::vector<float> gradients = std::vector<float>(replica.size(), 7);
  BoundReplica() { replica.bind(parameters, gradients); }
};

std::vector<float> plain_gradients(ReplicaNet& net, const Tensor& input) {
  net.forward(input).sum().backward();
  std::vector<float> flat;
  for (const Tensor& parameter : net.parameters()) {
    const Tensor gradient = parameter.grad().contiguous();
    flat.insert(flat.end(), gradient.data_ptr<float>(), gradient.data_ptr<float>() + gradient.numel());
  }
  return flat;
}

TEST(Replica, SectionsFollowTheModule) {
  ReplicaNet net;
  const Replica replica(net);
  std::vector<std::string> names;
  std::vector<bool> vectors;
  for (const auto& section : replica.sections()) {
    names.push_back(section.name);
    vectors.push_back(section.vector);
  }
  EXPECT_THAT(vectors, ElementsAre(false, true, true, true, false, true));
  EXPECT_THAT(names, ElementsAre("first.weight", "first.bias", "norm.weight", "norm.bias", "last.weight",
                                 "last.bias"));
  EXPECT_EQ(replica.size(), 12U + 4 + 4 + 4 + 8 + 2);
  EXPECT_EQ(replica.extras().size(), 2U) << "mean and variance";
  EXPECT_EQ(replica.fixed().size(), 1U) << "the number of batches";
}

TEST(Replica, ParametersAndGradientsAreViews) {
  ::torch::manual_seed(1);
  BoundReplica bound;
  const Tensor input = ::torch::randn({5, 3});
  bound.parameters[0] = 2.5F;
  EXPECT_EQ(bound.net.first->weight[0][0].item<float>(), 2.5F);
  bound.replica.zero_gradients();
  bound.net.forward(input).sum().backward();
  bound.replica.collect_gradients();
  ReplicaNet other;
  {
    const ::torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < other.parameters().size(); ++i)
      other.parameters()[i].copy_(bound.net.parameters()[i]);
  }
  EXPECT_EQ(bound.gradients, plain_gradients(other, input));
}

TEST(Replica, GradientsThatWereSetToNoneComeBack) {
  ::torch::manual_seed(1);
  BoundReplica bound;
  const Tensor input = ::torch::randn({5, 3});
  bound.replica.zero_gradients();
  bound.net.forward(input).sum().backward();
  const std::vector<float> expected = bound.gradients;
  for (Tensor& parameter : bound.net.parameters()) parameter.mutable_grad() = Tensor();
  std::fill(bound.gradients.begin(), bound.gradients.end(), 9.0F);
  // The batch's statistics do not depend on earlier ones, so the gradient is the same.
  bound.net.forward(input).sum().backward();
  bound.replica.collect_gradients();
  EXPECT_EQ(bound.gradients, expected);
  EXPECT_EQ(bound.net.first->weight.grad().data_ptr<float>(), bound.gradients.data());
}

TEST(Replica, AParameterWithoutGradientCountsAsZero) {
  BoundReplica bound;
  bound.net.zero_grad();
  for (Tensor& parameter : bound.net.parameters()) parameter.mutable_grad() = Tensor();
  bound.net.first->forward(::torch::ones({1, 3})).sum().backward();
  bound.replica.collect_gradients();
  for (std::size_t i = 16; i < bound.gradients.size(); ++i) EXPECT_EQ(bound.gradients[i], 0) << i;
  EXPECT_EQ(bound.gradients[0], 1);
}

TEST(Replica, TellsWhichSectionIsReadyRoughlyFromTheBack) {
  BoundReplica bound;
  std::vector<std::size_t> ready;
  bound.replica.on_gradient([&](std::size_t section) { ready.push_back(section); });
  bound.net.forward(::torch::randn({5, 3})).sum().backward();
  EXPECT_THAT(ready, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_GE(ready.front(), 4U);
  EXPECT_LE(ready.back(), 1U);
}

TEST(Replica, SharedParametersAreOneSection) {
  ReplicaNet net;
  nn::Linear twin(3, 4);
  twin->register_parameter("shared", net.first->weight);
  net.register_module("twin", twin);
  const Replica replica(net);
  EXPECT_EQ(replica.size(), 34U + 12 + 4)
      << "the twin's own weight and bias come in addition, the shared one does not";
}

TEST(Replica, FindsTheSectionsOfModules) {
  ReplicaNet net;
  nn::Linear twin(3, 4);
  twin->register_parameter("shared", net.last->weight);
  twin->weight.set_requires_grad(false);
  net.register_module("twin", twin);
  const Replica replica(net);
  EXPECT_THAT(replica.sections_of(*net.first), ElementsAre(0, 1));
  EXPECT_THAT(replica.sections_of(*twin), ElementsAre(4, 6)) << "shared ones too, frozen ones not";
  EXPECT_THAT(replica.sections_of(net), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(replica.sections_of(*nn::Linear(1, 1)), ElementsAre()) << "of another model";
}

// Sections 2 and 3, the normalisation, are the engine's at first.
TEST(Replica, GradientsThatAreNotTheProgramsAreOutOfItsReach) {
  BoundReplica bound;
  std::vector<bool> usable = {true, true, false, false, true, true};
  bound.replica.set_usable([&](std::size_t section) { return usable[section]; });
  std::fill(bound.gradients.begin(), bound.gradients.end(), 7.0F);
  bound.replica.zero_gradients();
  EXPECT_FALSE(bound.net.norm->weight.grad().defined());
  bound.net.zero_grad();
  bound.replica.collect_gradients();
  for (std::size_t i = 0; i < bound.gradients.size(); ++i) {
    EXPECT_EQ(bound.gradients[i], i >= 16 && i < 24 ? 7 : 0) << i;
  }
  usable[2] = true;
  bound.replica.take_over(2);
  EXPECT_EQ(bound.gradients[16], 0);
  EXPECT_EQ(bound.gradients[20], 7);
  EXPECT_EQ(bound.net.norm->weight.grad().data_ptr<float>(), bound.gradients.data() + 16);
  bound.gradients[16] = 5;
  bound.replica.take_over(2);
  EXPECT_EQ(bound.gradients[16], 5) << "it was the program's already";
}

TEST(Replica, LendsTheGradientsOfAPart) {
  BoundReplica bound;
  bound.net.last->bias.mutable_grad() = Tensor();
  bound.replica.with_gradients_of({16, 20}, [&] {
    EXPECT_FALSE(bound.net.first->bias.grad().defined());
    EXPECT_TRUE(bound.net.norm->weight.grad().defined());
    EXPECT_FALSE(bound.net.norm->bias.grad().defined());
  });
  EXPECT_TRUE(bound.net.first->bias.grad().defined());
  EXPECT_FALSE(bound.net.last->bias.grad().defined());
}

TEST(Replica, FrozenParametersAreNotTrained) {
  ReplicaNet net;
  net.first->weight.set_requires_grad(false);
  const Replica replica(net);
  EXPECT_EQ(replica.size(), 22U);
  EXPECT_EQ(replica.fixed().size(), 2U);
}

TEST(Replica, TheModuleOutlivesIt) {
  ReplicaNet net;
  std::vector<float> parameters = Replica(net).values(), gradients(parameters.size());
  {
    Replica replica(net);
    replica.bind(parameters, gradients);
    parameters[0] = 3;
  }
  const std::vector<float> last = parameters;
  std::fill(parameters.begin(), parameters.end(), 0.0F);
  EXPECT_EQ(Replica(net).values(), last);
  net.forward(::torch::randn({5, 3})).sum().backward();
}

TEST(Replica, RefusesWhatItCannotHold) {
  ReplicaNet net;
  net.last->to(::torch::kFloat64);
  EXPECT_THAT(starling::testing::refusal([&] { Replica replica(net); }),
              HasSubstr("parameter last.weight is Double; allowed: float32"));
  ReplicaNet frozen;
  for (Tensor& parameter : frozen.parameters()) parameter.set_requires_grad(false);
  EXPECT_THAT(starling::testing::refusal([&] { Replica replica(frozen); }),
              HasSubstr("no parameter that needs a gradient"));
}

TEST(FlatForm, TranslatesSgdAdamAndAdamW) {
  ReplicaNet net;
  const to::SGD sgd(net.parameters(), to::SGDOptions(0.1).momentum(0.9).weight_decay(0.01).nesterov(true));
  EXPECT_EQ(to_flat_optimizer(sgd), (optim::OptimizerSpec{.kind = optim::OptimizerSpec::Kind::kSgd,
                                                          .learning_rate = 0.1,
                                                          .weight_decay = 0.01,
                                                          .momentum = 0.9,
                                                          .nesterov = true}));
  const to::Adam adam(net.parameters(), to::AdamOptions(0.002).betas({0.8, 0.99}).eps(1e-6));
  EXPECT_EQ(to_flat_optimizer(adam), (optim::OptimizerSpec{.kind = optim::OptimizerSpec::Kind::kAdam,
                                                           .learning_rate = 0.002,
                                                           .beta1 = 0.8,
                                                           .beta2 = 0.99,
                                                           .epsilon = 1e-6}));
  const to::AdamW adamw(net.parameters(), to::AdamWOptions(0.003).weight_decay(0.1));
  EXPECT_EQ(to_flat_optimizer(adamw).kind, optim::OptimizerSpec::Kind::kAdamW);
  EXPECT_EQ(to_flat_optimizer(adamw).weight_decay, 0.1);
  EXPECT_EQ(learning_rate(adamw), 0.003);
}

TEST(FlatForm, RefusesTheOthersByName) {
  ReplicaNet net;
  const auto refusal = [](const to::Optimizer& optimizer) {
    return starling::testing::refusal([&] { to_flat_optimizer(optimizer); });
  };
  EXPECT_THAT(refusal(to::RMSprop(net.parameters())), HasSubstr("torch::optim::RMSprop has no other form"));
  EXPECT_THAT(refusal(to::Adam(net.parameters(), to::AdamOptions().amsgrad(true))), HasSubstr("amsgrad"));
  const std::vector<to::OptimizerParamGroup> groups = {
      to::OptimizerParamGroup(net.first->parameters(), std::make_unique<to::SGDOptions>(0.1)),
      to::OptimizerParamGroup(net.last->parameters(), std::make_unique<to::SGDOptions>(0.2))};
  EXPECT_THAT(refusal(to::SGD(groups, to::SGDOptions(0.1))),
              HasSubstr("parameter groups with different options"));
}

std::size_t parameters_of(std::string_view name, const InputShape& shape) {
  const auto model = make_model(name, shape, "--model");
  return Replica(*model).size();
}

TEST(Models, HaveTheSizesTheyAreKnownFor) {
  const InputShape grey{.channels = 1, .height = 28, .width = 28},
      colour{.channels = 3, .height = 32, .width = 32};
  EXPECT_EQ(parameters_of("lenet", grey), 61'706U);
  EXPECT_EQ(parameters_of("deep", grey), 6'403'210U);
  EXPECT_EQ(parameters_of("cnn", colour), 2'122'186U);
  EXPECT_NEAR(static_cast<double>(parameters_of("resnet20", colour)), 272'000, 3000);
  EXPECT_THAT(starling::testing::refusal([] { make_model("lenet", {.height = 8, .width = 8}, "--model"); }),
              HasSubstr("lenet needs pictures of at least 12 x 12; these are 8 x 8"));
}

// Each section once, the first ones first.
TEST(Models, AskForWhatTheyAreAboutToUse) {
  const auto expect_asks = [](Model& model, const Tensor& input) {
    const Replica replica(model);
    std::vector<std::size_t> asked;
    model.on_use([&](const nn::Module& module) {
      for (const std::size_t section : replica.sections_of(module)) asked.push_back(section);
    });
    model.forward(input);
    std::vector<std::size_t> all(replica.sections().size());
    std::iota(all.begin(), all.end(), 0U);
    EXPECT_EQ(asked, all);
  };
  for (const char* const name : {"mlp", "deep", "lenet", "cnn", "resnet20"}) {
    SCOPED_TRACE(name);
    expect_asks(*make_model(name, {}, "--model"), ::torch::randn({2, 1, 28, 28}));
  }
  expect_asks(*make_model("charlm", {.text = true, .classes = 30}, "--model"),
              ::torch::zeros({2, 64}, ::torch::kInt64));
}

TEST(Models, GiveLogitsOfTheirInput) {
  const InputShape grey{};
  for (const char* const name : {"mlp", "deep", "lenet", "cnn", "resnet20"}) {
    const auto model = make_model(name, grey, "--model");
    EXPECT_EQ(model->forward(::torch::randn({2, 1, 28, 28})).sizes(), (std::vector<std::int64_t>{2, 10}))
        << name;
  }
  const auto text = make_model("charlm", {.text = true, .classes = 30}, "--model");
  EXPECT_EQ(text->forward(::torch::zeros({2, 64}, ::torch::kInt64)).sizes(),
            (std::vector<std::int64_t>{128, 30}));
}

}  // namespace
}  // namespace starling::torch
