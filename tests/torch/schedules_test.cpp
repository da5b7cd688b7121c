// LibTorch programs on several real workers: whatever the schedule of the communication, and whatever the
// forward pass asks for, the models are those of a plain all-reduce.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "starling/launch/launcher.h"
#include "tests/support/temporary_folder.h"
#include "tests/torch/worker.h"

namespace starling::torch {
namespace {

struct Way {
  std::string strategy;
  strategy::OptionTexts options;
};

const Way kPlain{"allreduce", {{"schedule", "none"}}};
const Way kDdp{"allreduce", {{"schedule", "ddp"}, {"fusion", "256"}}};
const Way kPriority{"allreduce", {{"schedule", "priority"}, {"fusion", "256"}}};
const Way kDear{"dear", {{"fusion", "256"}, {"edge", "16"}}};

Way gathering(const std::string& what) {
  Way way = kDear;
  way.options["gather"] = what;
  return way;
}

int launch(int workers, const Way& way, const WorkerTask& task) {
  launch::LaunchPlan plan;
  plan.workers = workers;
  plan.own_output = true;
  plan.strategy = way.strategy;
  plan.options = way.options;
  plan.command = {std::filesystem::read_symlink("/proc/self/exe").string(), "--worker", in_a_word(task)};
  return launch::launch(plan);
}

// The outputs that the workers have seen, which must be the same.
std::vector<float> seen(int workers, const Way& way, const WorkerTask& task) {
  EXPECT_EQ(launch(workers, way, task), 0);
  const std::vector<float> first = seen_by(task, 0);
  for (int rank = 1; rank < workers; ++rank) EXPECT_EQ(seen_by(task, rank), first) << rank;
  return first;
}

double distance(const std::vector<float>& found, const std::vector<float>& wanted) {
  EXPECT_EQ(found.size(), wanted.size());
  double off = 0, size = 0;
  for (std::size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
    off += std::pow(found[i] - wanted[i], 2);
    size += std::pow(wanted[i], 2);
  }
  return std::sqrt(off / size);
}

struct Case {
  const char* name;
  WorkerTask task;
  int workers = 2;
  bool flat = true;  // its optimiser can be cut in slices
};

class Schedules : public ::testing::TestWithParam<Case> {
 protected:
  void compare() {
    const int workers = GetParam().workers;
    WorkerTask task = GetParam().task;
    task.folder = folder_.path();
    WorkerTask plain = task;
    if (task.forward != "skips") plain.forward = "plain";
    const std::vector<float> wanted = seen(workers, kPlain, plain);
    for (const Way& way : {kDdp, kPriority, gathering("gradients")}) {
      EXPECT_EQ(seen(workers, way, task), wanted) << way.strategy;
    }
    const std::vector<float> by_itself = seen(workers, kDear, task);
    if (GetParam().flat) {
      EXPECT_LT(distance(by_itself, wanted), 1e-5);
      EXPECT_EQ(seen(workers, gathering("weights"), task), by_itself);
    } else {
      EXPECT_EQ(by_itself, wanted) << "gradients are gathered";
    }
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_P(Schedules, HaveTheModelOfThePlainOne) { compare(); }

const Case kCases[] = {
    {"SgdThatAsksForNothing", {.look = "often"}},
    {"SgdThatAsks", {.forward = "ready"}},
    {"SgdThatAsksForHalf", {.forward = "half", .rate = "falling", .look = "often"}, 3},
    {"SgdThatSkips", {.forward = "skips", .rate = "falling"}},
    {"SgdClipped", {.forward = "gated", .rate = "falling", .clip = "clipped"}},
    {"SgdLookedAt", {.forward = "ready", .rate = "falling", .clip = "clipped", .look = "often"}, 3},
    {"AdamW", {.optimizer = "adamw", .forward = "gated", .rate = "falling"}, 3},
    {"AdamWClipped", {.optimizer = "adamw", .forward = "half", .clip = "clipped", .look = "often"}},
    {"Groups", {.optimizer = "groups", .forward = "ready", .rate = "falling"}, 2, false},
    {"GroupsThatSkip",
     {.optimizer = "groups", .forward = "skips", .rate = "falling", .clip = "clipped", .look = "often"},
     3,
     false},
};

// Prints the name, so that a failure is readable.
void PrintTo(const Case& one, std::ostream* out) { *out << one.name << " on " << one.workers; }

INSTANTIATE_TEST_SUITE_P(Cases, Schedules, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

// An evaluation that asks does not bind the training, but a training that asked has to go on.
TEST(ForwardPass, ThatForgetsToAskIsAnError) {
  const testing::TemporaryFolder folder;
  EXPECT_NE(launch(1, kPriority, {.forward = "forgets", .folder = folder.path()}), 0);
  std::ifstream file(folder.path() + "/error");
  const std::string error{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(error, ::testing::HasSubstr("was asked for before it was used in the last step"));
}

}  // namespace
}  // namespace starling::torch
