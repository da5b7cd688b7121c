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

}  // namespace
}  // namespace starling::launch
