// `starling launch` as its users see it.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "starling/core/process_identity.h"
#include "starling/core/text.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace starling::cli {
namespace {

Ran launch(Words flags, const std::string& script) {
  Words words{"launch"};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"--", "sh", "-c", script});
  return run_program(words);
}

TEST(Launch, PrefixesLinesWithTheRankAndKeepsTheStreamsApart) {
  const Ran ran = launch({"-n", "2"}, "echo out $STARLING_RANK; echo err >&2; printf rest");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(sorted_lines(ran.out), (Words{"[0] out 0", "[0] rest", "[1] out 1", "[1] rest"}));
  EXPECT_EQ(sorted_lines(ran.err), (Words{"[0] err", "[1] err"}));
}

TEST(Launch, GivesAServiceItsOwnRank) {
  const Ran ran = launch(
      {"-n", "2", "--strategy", "ps", "--mode", "asp"},
      "echo $STARLING_RANK of $STARLING_WORKERS in $STARLING_RANKS, $STARLING_STRATEGY $STARLING_OPTIONS");
  EXPECT_EQ(sorted_lines(ran.out), (Words{"[0] 0 of 2 in 3, ps mode=asp", "[1] 1 of 2 in 3, ps mode=asp",
                                          "[2] 2 of 2 in 3, ps mode=asp"}));
}

TEST(Launch, TellsTheWorkersWhichLinkToEmulate) {
  EXPECT_EQ(launch({"--link", "1gbe"}, "echo $STARLING_LINK").out, "[0] 1gbe\n");
  EXPECT_EQ(launch({"--link", "20mbyte/3us"}, "echo $STARLING_LINK").out, "[0] 2e+07/3000ns\n");
  EXPECT_EQ(launch({}, "echo ${STARLING_LINK-none}").out, "[0] none\n");
}

TEST(Launch, ReturnsTheExitCodeOfTheFirstThatFails) {
  const Ran ran = launch({"-n", "2"}, "if [ $STARLING_RANK = 1 ]; then exit 7; fi");
  EXPECT_EQ(ran.exit_code, 7);
  EXPECT_EQ(ran.err, "starling: rank 1 ended with exit code 7\n");
}

TEST(Launch, NamesTheSignal) {
  const Ran ran = launch({"-n", "2"}, "if [ $STARLING_RANK = 0 ]; then kill -9 $$; fi");
  EXPECT_EQ(ran.exit_code, 0) << "the other has ended well";
  EXPECT_EQ(ran.err, "starling: rank 0 ended with signal 9 (Killed); the others go on\n");
}

TEST(Launch, ALostWorkerEndsTheRunIfThatIsWanted) {
  setenv("STARLING_ON_LOSS", "end", 1);
  const Ran ran = launch({"-n", "2"}, "if [ $STARLING_RANK = 0 ]; then kill -9 $$; fi");
  setenv("STARLING_ON_LOSS", "stay", 1);
  const Ran refused = launch({"-n", "2"}, "true");
  unsetenv("STARLING_ON_LOSS");
  EXPECT_EQ(ran.exit_code, 137);
  EXPECT_EQ(ran.err, "starling: rank 0 ended with signal 9 (Killed)\n");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.err, "starling: STARLING_ON_LOSS: 'stay'; allowed: go-on, end\n");
}

// The flag wins over the variable, and the workers are told.
TEST(Launch, AFlagSaysWhatALossDoes) {
  const char* const loses = "echo $STARLING_ON_LOSS; if [ $STARLING_RANK = 0 ]; then kill -9 $$; fi";
  const Ran ends = launch({"-n", "2", "--on-loss", "end"}, loses);
  setenv("STARLING_ON_LOSS", "end", 1);
  const Ran goes_on = launch({"-n", "2", "--on-loss", "go-on"}, loses);
  unsetenv("STARLING_ON_LOSS");
  EXPECT_EQ(ends.exit_code, 137);
  EXPECT_EQ(ends.err, "starling: rank 0 ended with signal 9 (Killed)\n");
  EXPECT_EQ(goes_on.exit_code, 0);
  EXPECT_EQ(sorted_lines(goes_on.out), (Words{"[0] go-on", "[1] go-on"}));
  const Ran refused = launch({"--on-loss", "stay"}, "true");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.err, "starling: --on-loss: 'stay'; allowed: go-on, end\n");
}

TEST(Launch, GoesOnWithoutAWorkerWhereTheStrategyDoes) {
  const Ran ran =
      launch({"-n", "3", "--strategy", "dpsgd"}, "if [ $STARLING_RANK = 2 ]; then exit 1; fi; echo done");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "starling: rank 2 ended with exit code 1; the others go on\n");
  EXPECT_EQ(sorted_lines(ran.out), (Words{"[0] done", "[1] done"}));
}

// The death of the first is as that of any other.
TEST(Launch, GoesOnWithoutTheFirst) {
  const Ran ran = launch({"-n", "2", "--strategy", "ripples"},
                         "if [ $STARLING_RANK = 0 ]; then kill -9 $$; fi; echo done");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "starling: rank 0 ended with signal 9 (Killed); the others go on\n");
  EXPECT_EQ(ran.out, "[1] done\n");
}

TEST(Launch, DoesNotEndWellIfNoWorkerDoes) {
  EXPECT_EQ(launch({"-n", "2", "--strategy", "dpsgd"}, "exit 7").exit_code, 7);
}

TEST(Launch, LeavesNoChildrenBehind) {
  const Ran ran = launch({"-n", "1"}, "sleep 1000 & echo $!");
  EXPECT_EQ(ran.exit_code, 0);
  const std::string pid = ran.out.substr(4, ran.out.size() - 5);
  // Killed at once; the process that inherits it may still have to reap it.
  const Ran look =
      launch({"-n", "1"}, "grep State /proc/" + pid + "/status 2>/dev/null | grep -v zombie; true");
  EXPECT_EQ(look.out, "");
}

// Reads the pid that a script has written; 0 before.
pid_t pid_in(const std::string& file) {
  pid_t pid = 0;
  std::ifstream(file) >> pid;
  return pid;
}

// The shell dies with the launcher; what it has started is behind it.
TEST(Launch, LeavesNoGrandchildrenBehindWhenItIsKilled) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.path() + "/pid";
  RunningProgram program(
      {"launch", "-n", "1", "--", "sh", "-c",
       concat("sleep 1000 & echo $! > ", file, ".part; mv ", file, ".part ", file, "; wait")});
  while (pid_in(file) == 0 && !program.ended()) usleep(1'000);
  const pid_t grandchild = pid_in(file);
  ASSERT_GT(grandchild, 0) << program.wait().err;
  kill(program.pid(), SIGKILL);
  while (identity_of(grandchild).valid()) usleep(1'000);
}

// A descendant that has left its group holds the output open.
TEST(Launch, DoesNotWaitForAProcessThatHasDetachedItself) {
  const Ran ran = launch({"-n", "1"}, "setsid sleep 1000 & echo $!");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  ASSERT_TRUE(ran.out.starts_with("[0] ")) << ran.out;
  EXPECT_EQ(kill(std::stoi(ran.out.substr(4)), SIGKILL), 0);
}

TEST(Launch, RefusesBadInput) {
  for (const auto& [words, part] : std::vector<std::pair<Words, std::string>>{
           {{"launch"}, "no program"},
           {{"launch", "-n", "2", "--"}, "no program"},
           {{"launch", "-n", "0", "--", "true"}, "'0' is not a whole number from 1 to 255"},
           {{"launch", "-n", "x", "--", "true"}, "'x' is not"},
           {{"launch", "--strategy", "rings", "--", "true"}, "unknown strategy 'rings'"},
           {{"launch", "--mode", "asp", "--", "true"}, "--mode is an option of strategy ps"},
           {{"launch", "--link", "fast", "--", "true"}, "--link: 'fast' is not a network; allowed: 1gbe"},
           {{"launch", "--link", "1gbit/x", "--", "true"}, "--link: 'x' is not a duration"},
           {{"launch", "program"}, "no program"},
           {{"launch", "--", "/nonexistent/program"}, "'/nonexistent/program' is not an executable program"},
           {{"launch", "--", "no-such-program"}, "'no-such-program' is not an executable program"},
           {{"launch", "--", "/tmp"}, "'/tmp' is not an executable program"}}) {
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

}  // namespace
}  // namespace starling::cli
