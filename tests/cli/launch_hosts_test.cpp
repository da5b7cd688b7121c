// `starling launch` over several hosts as its users see it, by an agent for which every host is this machine.
// tests/tools/launches_on_hosts_test.py tests separate hosts.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "starling/core/text.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;

const std::string kAgent = STARLING_SOURCE_DIR "/tests/cli/agent";

Words words_for(const Words& flags, const std::string& script) {
  Words words{"launch", "--agent", kAgent};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"--", "sh", "-c", script});
  return words;
}

Ran launch_on(const Words& flags, const std::string& script, const Words& environment = {}) {
  return run_program(words_for(flags, script), environment);
}

TEST(LaunchOnHosts, PrefixesLinesWithHostAndRankAndKeepsTheStreamsApart) {
  const Ran ran = launch_on({"--hosts", "a:2,me@b"}, "echo out $STARLING_RANK; echo err >&2; printf rest");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(sorted_lines(ran.out),
            (Words{"[a 0] out 0", "[a 0] rest", "[a 1] out 1", "[a 1] rest", "[b 2] out 2", "[b 2] rest"}));
  EXPECT_EQ(sorted_lines(ran.err), (Words{"[a 0] err", "[a 1] err", "[b 2] err"}));
}

TEST(LaunchOnHosts, TellsEachWhereItStandsAndPutsTheServiceOnTheFirstHost) {
  const Ran ran =
      launch_on({"--hosts", "a,b:9", "-n", "2", "--strategy", "ps", "--mode", "asp", "--rendezvous", "x:77"},
                "echo $STARLING_RANK of $STARLING_WORKERS in $STARLING_RANKS, $STARLING_STRATEGY "
                "$STARLING_OPTIONS $STARLING_RENDEZVOUS ${#STARLING_TOKEN} ${STARLING_ARENA-none}");
  EXPECT_EQ(sorted_lines(ran.out), (Words{"[a 0] 0 of 2 in 3, ps mode=asp x:77 32 none",
                                          "[a 2] 2 of 2 in 3, ps mode=asp x:77 32 none",
                                          "[b 1] 1 of 2 in 3, ps mode=asp x:77 32 none"}));
}

TEST(LaunchOnHosts, RankZeroListensAtAPortOfTheFirstHost) {
  const Ran ran = launch_on({"--hosts", "me@first,b"},
                            "case $STARLING_RENDEZVOUS in first:2*) echo $STARLING_RENDEZVOUS;; esac");
  const Words lines = sorted_lines(ran.out);
  ASSERT_EQ(lines.size(), 2U) << ran.out;
  EXPECT_EQ(lines[0].substr(lines[0].find(']')), lines[1].substr(lines[1].find(']')));
}

TEST(LaunchOnHosts, ReadsAHostfile) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.write("hosts", "# two\na slots=2\n\nb\n");
  EXPECT_EQ(sorted_lines(launch_on({"--hostfile", file}, "echo x").out),
            (Words{"[a 0] x", "[a 1] x", "[b 2] x"}));
  EXPECT_EQ(launch_on({"--hostfile", file, "-n", "1"}, "echo x").out, "[a 0] x\n");
}

TEST(LaunchOnHosts, StartsMoreThanAHostLetsInAtOnce) {
  const Ran ran = launch_on({"--hosts", "a:20"}, "echo $STARLING_RANK");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(sorted_lines(ran.out).size(), 20U) << ran.out;
}

TEST(LaunchOnHosts, SendsTheFolderAndAFewVariablesAlong) {
  const Ran ran =
      launch_on({"--hosts", "a", "--env", "ASKED", "--env", "SET=a 'b' $c", "--env=EMPTY="},
                "echo \"$PWD\"; echo \"$ASKED|$SET|${EMPTY-none}|${OTHER-none}|$OMP_NUM_THREADS|$UCX_TLS\"; "
                "echo $STARLING_SIMD $STARLING_TRANSPORT ${STARLING_HOST-none} $LD_LIBRARY_PATH",
                {"ASKED=yes", "OTHER=no", "OMP_NUM_THREADS=3", "UCX_TLS=tcp", "STARLING_SIMD=off",
                 "STARLING_TRANSPORT=shm", "STARLING_HOST=here", "LD_LIBRARY_PATH=/lib1:/lib2"});
  EXPECT_EQ(ran.out, concat("[a 0] ", fs::current_path().string(),
                            "\n[a 0] yes|a 'b' $c||none|3|tcp\n[a 0] off shm none /lib1:/lib2:/behind\n"));
  EXPECT_EQ(launch_on({"--hosts", "a", "--env", "LD_LIBRARY_PATH=/only"}, "echo $LD_LIBRARY_PATH",
                      {"LD_LIBRARY_PATH=/lib1"})
                .out,
            "[a 0] /only\n");
}

TEST(LaunchOnHosts, ShowsTheTokenOnNoCommandLine) {
  const Ran ran = launch_on({"--hosts", "a"},
                            "case $(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ') in "
                            "*$STARLING_TOKEN*) echo seen;; *starling_*) echo hidden;; esac");
  EXPECT_EQ(ran.out, "[a 0] hidden\n");
}

TEST(LaunchOnHosts, ReturnsTheExitCodeOfTheFirstThatFails) {
  Ran ran = launch_on({"--hosts", "a,b"}, "if [ $STARLING_RANK = 1 ]; then exit 7; fi");
  EXPECT_EQ(ran.exit_code, 7);
  EXPECT_EQ(ran.err, "starling: rank 1 on b ended with exit code 7\n");
  ran = launch_on({"--hosts", "a,b"}, "if [ $STARLING_RANK = 0 ]; then kill -9 $$; fi");
  EXPECT_EQ(ran.exit_code, 0) << "the other has ended well";
  EXPECT_EQ(ran.err, "starling: rank 0 on a ended with signal 9 (Killed); the others go on\n");
}

TEST(LaunchOnHosts, GoesOnWithoutAWorkerWhereTheStrategyDoes) {
  const Ran ran = launch_on({"--hosts", "a:2,b", "--strategy", "dpsgd"},
                            "if [ $STARLING_RANK = 2 ]; then exit 1; fi; echo done");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "starling: rank 2 on b ended with exit code 1; the others go on\n");
  EXPECT_EQ(sorted_lines(ran.out), (Words{"[a 0] done", "[a 1] done"}));
}

// The others would wait for it at the rendezvous.
TEST(LaunchOnHosts, EndsIfAHostIsNotReachedWhateverTheStrategy) {
  const Ran ran = launch_on({"--hosts", "a,down", "--strategy", "dpsgd"}, "exit 0");
  EXPECT_EQ(ran.exit_code, 255);
  EXPECT_NE(ran.err.find("[down 1] connect to host down: No route to host\n"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find(concat("starling: rank 1 on down could not be started: ", kAgent,
                                " ended with exit code 255\n")),
            std::string::npos)
      << ran.err;
}

TEST(LaunchOnHosts, SaysWhichHostHasNoSuchProgram) {
  const Ran ran =
      RunningProgram({"launch", "--hosts", "a", "--agent", kAgent, "--", "./no-such-program"}).wait();
  EXPECT_EQ(ran.exit_code, 127);
  EXPECT_NE(ran.err.find("[a 0] starling: host a has no program './no-such-program' (in "), std::string::npos)
      << ran.err;
}

TEST(LaunchOnHosts, PassesAGreetingOnAndStillKnowsThatTheProgramStarts) {
  const Ran ran = launch_on({"--hosts", "noisy"}, "echo done");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, "[noisy 0] Welcome\n[noisy 0] to \n[noisy 0] done\n");
}

TEST(LaunchOnHosts, RefusesBadInput) {
  const testing::TemporaryFolder folder;
  const std::string empty = folder.write("empty", ""), bad = folder.write("bad", "a\nb slots=x\n");
  for (const auto& [flags, value, allowed] : std::vector<std::tuple<Words, std::string, std::string>>{
           {{"--hosts", "a:0"}, "'0'", "from 1 to 255"},
           {{"--hosts", "a;b"}, "'a;b'", "allowed: NAME or NAME:WORKERS"},
           {{"--hosts", "-oProxyCommand=x"}, "'-oProxyCommand=x'", "allowed: NAME"},
           {{"--hosts="}, "--hosts is empty", "allowed: NAME:WORKERS"},
           {{"--hosts", "a", "--hostfile", empty}, "--hosts and --hostfile", "allowed: one of them"},
           {{"--hostfile", empty}, empty, "names no host"},
           {{"--hostfile", bad}, "line 2", "from 1 to 255"},
           {{"--hostfile", "/no/such/file"}, "'/no/such/file'", "a readable file"},
           {{"--hostfile", "/"}, "'/'", "a readable file"},
           {{"--hosts", "a:2,b", "-n", "4"}, "'4'", "from 1 to 3"},
           {{"--hosts", "a:2,b", "-n", "0"}, "'0'", "from 1 to 3"},
           {{"--hosts", "a", "--agent", "no-such-agent -x"}, "'no-such-agent'", "allowed: ssh"},
           {{"--hosts", "a", "--agent", "'x"}, "--agent: ''x'", "not closed"},
           {{"--hosts", "a", "--link", "1gbe"}, "--link", "without --hosts"},
           {{"--hosts", "a", "--rendezvous", "b"}, "--rendezvous: 'b'", "allowed: HOST:PORT"},
           {{"--hosts", "a", "--env", "1=2"}, "'1=2'", "allowed: NAME or NAME=VALUE"},
           {{"--hosts", "a", "--env", "NOT_SET_AT_ALL"}, "NOT_SET_AT_ALL", "NAME=VALUE"},
           {{"--hosts", "a", "--env", "STARLING_RANK=3"}, "STARLING_RANK", "allowed: other variables"},
           {{"--agent", "ssh"}, "--agent", "with --hosts"},
           {{"--env", "A=b"}, "--env", "with --hosts"},
           {{"--rendezvous", "a:1"}, "--rendezvous", "with --hosts"},
           {{"--hots", "a"}, "--hots", "did you mean --hosts?"}}) {
    Words words{"launch"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--", "true"});
    expect_refused(words, value, allowed);
  }
}

TEST(LaunchOnHosts, TheFlagForALossTravels) {
  const char* const shows = "echo $STARLING_ON_LOSS";
  const Words end{"STARLING_ON_LOSS=end"};
  EXPECT_EQ(launch_on({"--hosts", "a"}, shows, end).out, "[a 0] end\n");
  EXPECT_EQ(launch_on({"--hosts", "a", "--on-loss", "go-on"}, shows, end).out, "[a 0] go-on\n");
  EXPECT_EQ(launch_on({"--hosts", "a", "--on-loss", "end"}, shows).out, "[a 0] end\n");
}

}  // namespace
}  // namespace starling::cli
