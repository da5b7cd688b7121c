#include "starling/sim/replay.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "starling/core/error.h"

namespace starling::sim {
namespace {

const std::map<std::string_view, std::size_t> kPublished = {
    {"resnet50", 25557032}, {"densenet201", 20013928}, {"inceptionv4", 42679816},
    {"vgg16", 138357544},   {"bert-base", 109482240},  {"bert-large", 335141888}};

const ReplayModel& model_named(std::string_view name) {
  for (const ReplayModel& model : replay_models()) {
    if (model.name == name) return model;
  }
  throw InvalidArgument(concat("no model ", name));
}

TEST(Replay, HasThePublishedParameters) {
  ASSERT_EQ(replay_models().size(), kPublished.size());
  for (const ReplayModel& model : replay_models()) {
    EXPECT_EQ(Replay(model, 0).parameters(), kPublished.at(model.name)) << model.name;
  }
}

TEST(Replay, SectionsAreContiguousAndNamedOnce) {
  for (const ReplayModel& model : replay_models()) {
    const Replay work(model, 0);
    std::size_t next = 0;
    std::set<std::string> names;
    for (const strategy::Section& section : work.sections()) {
      EXPECT_EQ(section.offset, next);
      EXPECT_GT(section.count, 0u);
      next += section.count;
      EXPECT_TRUE(names.insert(section.name).second) << section.name;
    }
  }
}

TEST(Replay, BackwardTakesTwiceAsLongAsForward) {
  for (const ReplayModel& model : replay_models()) {
    const Replay work(model, 0);
    const StepTimes times = work.times().value();
    ASSERT_EQ(times.forward.size(), work.sections().size());
    ASSERT_EQ(times.backward.size(), work.sections().size());
    for (std::size_t i = 0; i < times.forward.size(); ++i) {
      EXPECT_GT(times.forward[i], 0) << work.sections()[i].name;
      EXPECT_EQ(times.backward[i], 2 * times.forward[i]);
    }
    EXPECT_GT(times.total(), 0.1);
    EXPECT_LT(times.total(), 1);
  }
}

TEST(Replay, KeepsForwardOrder) {
  const std::map<std::string_view, std::pair<std::string, std::string>> ends = {
      {"resnet50", {"conv1.weight", "fc.bias"}},
      {"densenet201", {"features.conv0.weight", "classifier.bias"}},
      {"inceptionv4", {"features.0.conv.weight", "last_linear.bias"}},
      {"vgg16", {"features.0.weight", "classifier.6.bias"}},
      {"bert-base", {"embeddings.word_embeddings.weight", "pooler.dense.bias"}},
      {"bert-large", {"embeddings.word_embeddings.weight", "pooler.dense.bias"}}};
  for (const auto& [name, names] : ends) {
    const Replay work(model_named(name), 0);
    EXPECT_EQ(work.sections().front().name, names.first);
    EXPECT_EQ(work.sections().back().name, names.second);
  }
}

TEST(Replay, RunsAtThePublishedSpeed) {
  const Replay work(model_named("resnet50"), 0);
  EXPECT_EQ(work.batch(), 64u);
  EXPECT_NEAR(64 / work.times()->total(), 294, 3);
}

TEST(Replay, TimesFollowTheBatch) {
  const Replay work(model_named("vgg16"), 0), half(model_named("vgg16"), 32);
  EXPECT_EQ(half.batch(), 32u);
  EXPECT_NEAR(half.times()->total(), work.times()->total() / 2, 1e-12);
}

TEST(Replay, HasNoNumbers) {
  const Replay work(model_named("resnet50"), 0);
  std::vector<float> x(1);
  Random random(1);
  EXPECT_TRUE(work.ghost());
  EXPECT_THROW(work.initialize(x, random), Error);
  EXPECT_THROW(work.gradient(0, x, x, 1, random), Error);
  EXPECT_THROW(work.evaluate(x), Error);
}

}  // namespace
}  // namespace starling::sim
