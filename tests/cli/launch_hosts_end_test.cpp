// However a run over several hosts ends, nothing of it goes on there. By an agent for which every host is
// this machine.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "starling/core/text.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;

template <class Condition>
bool comes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// Runs have a folder of their own, by which their processes on the hosts are known.
class EndOnHosts : public ::testing::Test {
 protected:
  EndOnHosts() { fs::current_path(folder_.path()); }
  ~EndOnHosts() override { fs::current_path(before_); }

  // Two programs, each with a child.
  static RunningProgram start(const std::string& script, const std::string& strategy = "allreduce") {
    return RunningProgram({"launch", "--strategy", strategy, "--hosts", "a,b", "--agent",
                           STARLING_SOURCE_DIR "/tests/cli/agent", "--", "sh", "-c",
                           concat("sleep 1000 & : > started$STARLING_RANK; ", script)});
  }
  bool has(const std::string& file) const { return fs::exists(fs::path(folder_.path()) / file); }
  bool both_run() const {
    return comes_true([this] { return has("started0") && has("started1"); });
  }
  bool nothing_is_left() const {
    return comes_true([this] { return processes_here() == 0; });
  }
  // Besides this one. The kernel does not tell the folder of processes that have ended.
  int processes_here() const {
    int count = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos || name == std::to_string(getpid()))
        continue;
      std::error_code error;
      if (fs::read_symlink(entry.path() / "cwd", error) == folder_.path() && !error) ++count;
    }
    return count;
  }

 private:
  testing::TemporaryFolder folder_;
  fs::path before_ = fs::current_path();
};

TEST_F(EndOnHosts, OfTheProgramsEndsTheirChildrenToo) {
  const Ran ran = start("exit 0").wait();
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(EndOnHosts, BySignalReachesTheProgramsAsThatSignal) {
  for (const auto& [number, name] :
       {std::pair(SIGINT, "INT"), std::pair(SIGTERM, "TERM"), std::pair(SIGHUP, "HUP")}) {
    RunningProgram launcher =
        start(concat("trap 'echo ", name, "; exit 5' ", name, "; : > trap$STARLING_RANK; wait"));
    ASSERT_TRUE(comes_true([&] { return has("trap0") && has("trap1"); }));
    kill(launcher.pid(), number);
    const Ran ran = launcher.wait();
    EXPECT_EQ(ran.exit_code, 128 + number);
    EXPECT_NE(ran.out.find(concat("[a 0] ", name, "\n")), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find(concat("[b 1] ", name, "\n")), std::string::npos) << ran.out;
    EXPECT_TRUE(nothing_is_left());
    for (const char* const file : {"trap0", "trap1"}) fs::remove(file);
  }
}

TEST_F(EndOnHosts, AsAskedIsNoComplaint) {
  RunningProgram launcher = start("exec sleep 1000");
  ASSERT_TRUE(both_run());
  EXPECT_GE(processes_here(), 5);  // the launcher, two programs, two children
  kill(launcher.pid(), SIGINT);
  const Ran ran = launcher.wait();
  EXPECT_EQ(ran.exit_code, 130);
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(EndOnHosts, TwiceAskedForIsNotWaitedFor) {
  RunningProgram launcher = start("trap '' INT; : > trap$STARLING_RANK; while :; do wait; done");
  ASSERT_TRUE(comes_true([&] { return has("trap0") && has("trap1"); }));
  kill(launcher.pid(), SIGINT);
  kill(launcher.pid(), SIGTERM);
  const Ran ran = launcher.wait();
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_EQ(ran.err.find("does not answer"), std::string::npos) << ran.err;
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(EndOnHosts, ComesWithTheDeathOfTheLauncher) {
  RunningProgram launcher = start("trap '' INT TERM HUP; : > trap$STARLING_RANK; while :; do wait; done");
  ASSERT_TRUE(comes_true([&] { return has("trap0") && has("trap1"); }));
  kill(launcher.pid(), SIGKILL);
  EXPECT_TRUE(nothing_is_left());
}

// Holds even while programs are being started.
TEST_F(EndOnHosts, ComesWithTheDeathOfTheLauncherAtAnyTime) {
  for (int delay = 0; delay < 40; delay += 2) {
    RunningProgram launcher = start("sleep 1000");
    std::this_thread::sleep_for(std::chrono::milliseconds(delay));
    kill(launcher.pid(), SIGKILL);
    launcher.wait();
    ASSERT_TRUE(nothing_is_left()) << "killed after " << delay << " ms";
  }
}

TEST_F(EndOnHosts, ComesWithAFailure) {
  const Ran ran =
      start("[ $STARLING_RANK = 1 ] && { until [ -e started0 ]; do :; done; exit 3; }; exec sleep 1000")
          .wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_TRUE(ran.err.starts_with("starling: rank 1 on b ended with exit code 3\n")) << ran.err;
  EXPECT_TRUE(nothing_is_left());
}

// Where the strategy goes on without a worker, it does so without its agent.
TEST_F(EndOnHosts, OfAnAgentIsThatOfItsProgram) {
  RunningProgram launcher =
      start("[ $STARLING_RANK = 1 ] && exec sleep 1000; until [ -e go ]; do sleep 0.01; done", "dpsgd");
  ASSERT_TRUE(both_run());
  std::ifstream children(concat("/proc/", launcher.pid(), "/task/", launcher.pid(), "/children"));
  const std::vector<pid_t> started{std::istream_iterator<pid_t>(children), {}};
  ASSERT_GE(started.size(), 2U);
  kill(*std::max_element(started.begin(), started.end()), SIGKILL);  // rank 1 was started last
  std::ofstream("go").flush();
  const Ran ran = launcher.wait();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "starling: rank 1 on b ended with signal 9 (Killed); the others go on\n");
  EXPECT_TRUE(nothing_is_left());
}

}  // namespace
}  // namespace starling::cli
