// Cases that the program's tests (tests/cli/launch*_test.cpp) cannot wait for.
#include "starling/launch/launcher.h"

#include <gtest/gtest.h>

#include <chrono>

namespace starling::launch {
namespace {

// An agent that neither reads nor ends, as of a host that was switched off, is given up in the end.
TEST(Launcher, DoesNotWaitForAHostThatDoesNotAnswer) {
  LaunchPlan plan;
  plan.workers = 2;
  plan.grace = std::chrono::milliseconds(20);
  plan.command = {"true"};
  plan.elsewhere = HostsPlan{.hosts = {{"down", 1}, {"silent", 1}},
                             .agent = {"sh", "-c", "[ $1 = down ] && exit 255; exec sleep 1000", "agent"},
                             .rendezvous = {},
                             .folder = "/",
                             .variables = {},
                             .paths = {}};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(launch(plan), 255);
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("rank 0 on down could not be started: sh ended with exit code 255"), std::string::npos)
      << told;
  EXPECT_NE(told.find("rank 1 on silent does not answer"), std::string::npos) << told;
}

// Rank 1 of two stops itself; rank 0 has nothing to do.
LaunchPlan one_stops() {
  LaunchPlan plan;
  plan.workers = 2;
  plan.grace = std::chrono::milliseconds(20);
  plan.strategy = "ripples";
  plan.command = {"sh", "-c", "[ $STARLING_RANK = 0 ] || kill -s STOP $$"};
  return plan;
}

void expect_that_the_stopped_one_is_killed(const LaunchPlan& plan, const std::string& name) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(launch(plan), 0);
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find(name + " ended with signal 9 (Killed); the others go on"), std::string::npos) << told;
}

TEST(Launcher, DoesNotWaitForAStoppedProcessWhenTheRunIsOver) {
  expect_that_the_stopped_one_is_killed(one_stops(), "rank 1");
}

TEST(Launcher, DoesNotWaitForAStoppedProcessOfAnotherHostWhenTheRunIsOver) {
  LaunchPlan plan = one_stops();
  plan.elsewhere = HostsPlan{.hosts = {{"a", 1}, {"b", 1}},
                             .agent = {"sh", "-c", "exec sh -c \"$2\"", "agent"},
                             .rendezvous = {},
                             .folder = "/",
                             .variables = {},
                             .paths = {}};
  expect_that_the_stopped_one_is_killed(plan, "rank 1 on b");
}

}  // namespace
}  // namespace starling::launch
