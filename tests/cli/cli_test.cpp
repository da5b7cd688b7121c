// The program as its users see it: exit codes, and what goes to which stream.
#include <gtest/gtest.h>

#include <string>

#include "starling/core/text.h"
#include "starling/core/version.h"
#include "starling/transport/wire/mpi.h"
#include "starling/transport/wire/ucx.h"
#include "tests/cli/program.h"

namespace starling::cli {
namespace {

Words bench(Words more) {
  Words words{"bench", "collectives"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Cli, HelpGoesToStdout) {
  for (const Words& words :
       {Words{"--help"}, Words{"info", "--help"}, bench({"--help"}), Words{"simulate", "--help"},
        Words{"strategies", "--help"}, Words{"data", "--help"}}) {
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.exit_code, 0);
    const Words command(words.begin(), words.end() - 1);
    const std::string usage =
        concat("Usage: starling", command.empty() ? "" : " ", join_texts(command, " "), " [");
    EXPECT_NE(ran.out.find(usage), std::string::npos) << usage << " is missing in\n" << ran.out;
    EXPECT_EQ(ran.err, "");
  }
  EXPECT_NE(run_program({"--help"}).out.find("bench"), std::string::npos);
}

TEST(Cli, WithoutACommandHelpGoesToStderr) {
  for (const Words& words : {Words{}, Words{"bench"}}) {
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find("Usage"), std::string::npos);
  }
}

TEST(Cli, TellsItsVersion) {
  const Ran ran = run_program({"--version"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, concat("starling ", version(), "\n"));
}

TEST(Cli, RefusesUnknownWords) {
  expect_refused({"frobnicate"}, "frobnicate", "--help");
  expect_refused({"--frobnicate"}, "--frobnicate", "--help");
  expect_refused({"info", "--frobnicate"}, "--frobnicate", "--help");
  expect_refused({"bench", "frobnicate"}, "frobnicate", "--help");
  expect_refused(bench({"more"}), "more", "--help");
}

TEST(Cli, RefusesBadRanks) {
  for (const char* ranks : {"0", "257", "-1", "x", "2x", "1.5"}) {
    expect_refused(bench({"--ranks", ranks}), concat("'", ranks, "'"), "from 1 to 256");
  }
  expect_refused(bench({"--ranks", "2,,4"}), "''", "from 1 to 256");
  expect_refused(bench({"--ranks", ""}), "--ranks", "''");
  expect_refused(bench({"--ranks"}), "--ranks", "required");
}

TEST(Cli, RefusesBadSizes) {
  for (const char* size : {"x", "1.5k", "12q", "-4"}) {
    expect_refused(bench({"--sizes", size}), concat("'", size, "'"), "k, m or g");
  }
  for (const char* size : {"0", "6", "1023", "5g"}) {
    expect_refused(bench({"--sizes", concat("1k,", size)}), concat("'", size, "'"), "multiple of 4 bytes");
  }
  expect_refused(bench({"--ranks", "256", "--sizes", "4g"}), "'4g' over 256 ranks", "available");
}

TEST(Cli, RefusesOtherBadOptions) {
  expect_refused(bench({"--ops", "allreduce,scatter"}), "'scatter'", "allreduce, broadcast, allgather");
  expect_refused(bench({"--against", "nccl"}), "'nccl'", "mpi, gloo, none");
  expect_refused(bench({"--rounds", "0"}), "'0'", "from 1 to 1000");
  expect_refused(bench({"--json", "/nonexistent/file"}), "/nonexistent/file", "No such file");
}

TEST(Cli, RefusesABadEnvironment) {
  const Ran ran = run_program({"info"}, {"STARLING_SIMD=mmx"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, "starling: STARLING_SIMD: 'mmx' is not one of auto, baseline, avx2\n");

  const Ran measured = run_program(bench({"--ranks", "2"}), {"STARLING_ALLREDUCE=0-: tree"});
  EXPECT_EQ(measured.exit_code, 2);
  EXPECT_EQ(measured.out, "");
  EXPECT_EQ(measured.err,
            "starling: STARLING_ALLREDUCE: unknown algorithm 'tree'; allowed: direct, ring, doubling, "
            "halving, hierarchical\n");
}

TEST(Cli, ComplaintsNameTheHelpOfTheirCommand) {
  expect_refused({"info", "--frobnicate"}, "--frobnicate", "(see starling info --help)");
  expect_refused(bench({"--frobnicate"}), "--frobnicate", "(see starling bench collectives --help)");
}

TEST(Cli, OutputThatCannotBeWrittenIsAnError) {
  for (const Words& words :
       {Words{"--help"}, Words{"--version"}, Words{"strategies"}, Words{"simulate", "--steps", "2"},
        Words{"simulate", "--steps", "2", "--json"}}) {
    const Ran ran = run_program(words, {}, "/dev/full");
    EXPECT_EQ(ran.exit_code, 1) << join_texts(words);
    EXPECT_EQ(ran.err, "starling: cannot write to standard output: No space left on device\n");
  }
}

TEST(Info, NamesEverything) {
  const Ran ran = run_program({"info"}, {"STARLING_PYTHON=/nonexistent/python"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  for (const char* word :
       {version(), "compiler", "processor", "kernels", "inproc", "shm", "ucx", "mpi", "libtorch", "gloo",
        "/nonexistent/python: not there", "all-reduce", "shared memory: ", "network: "}) {
    EXPECT_NE(ran.out.find(word), std::string::npos) << word << " is missing in\n" << ran.out;
  }
}

TEST(Info, TellsTheSameAsJson) {
  const Ran ran =
      run_program({"info", "--json"}, {"STARLING_PYTHON=/nonexistent/python", "STARLING_SIMD=baseline"});
  EXPECT_EQ(ran.exit_code, 0);
  const Json json = Json::parse(ran.out);
  EXPECT_EQ(json["version"], version());
  EXPECT_EQ(json["kernels"], "baseline");
  EXPECT_TRUE(json["features"].empty());
  EXPECT_GE(json["cores"], 1);
  EXPECT_EQ(json["transports"]["shm"]["available"], true);
  EXPECT_EQ(json["transports"]["ucx"]["available"], transport::wire::why_no_ucx().empty());
  EXPECT_EQ(json["transports"]["mpi"]["available"], transport::wire::why_no_mpi().empty());
  EXPECT_EQ(json["peers"]["gloo"]["available"], false);
  EXPECT_FALSE(json["peers"]["gloo"]["detail"].get<std::string>().empty());
  EXPECT_TRUE(json["allreduce"].contains("network"));
  EXPECT_TRUE(json["strategies"].contains("local-sgd"));
}

TEST(Info, ShowsTheTableOfTheEnvironment) {
  const Ran ran =
      run_program({"info", "--json"}, {"STARLING_PYTHON=/nonexistent/python", "STARLING_ALLREDUCE=0-: ring"});
  EXPECT_EQ(Json::parse(ran.out)["allreduce"], Json({{"STARLING_ALLREDUCE", "0-: ring"}}));
}

TEST(Info, ShowsWhoStartedTheProcess) {
  const auto process = [](const Words& environment) {
    return Json::parse(run_program({"info", "--json"}, environment).out)["process"];
  };
  const Json alone = process({});
  EXPECT_NE(alone["started_by"].get<std::string>().find("nobody: none of STARLING_RANK"), std::string::npos);
  EXPECT_EQ(alone["ranks"], 1);
  const Json third = process({"RANK=2", "WORLD_SIZE=4", "LOCAL_WORLD_SIZE=4", "MASTER_PORT=29500"});
  EXPECT_EQ(third["started_by"], "torchrun: RANK=2 of WORLD_SIZE=4, all on this host (LOCAL_WORLD_SIZE=4)");
  EXPECT_EQ(third["rank"], 2);
  EXPECT_EQ(third["ranks"], 4);
  EXPECT_TRUE(third["joins"].get<std::string>().starts_with("by shared memory, socket starling-torchrun-"));
  const Ran half = run_program({"info"}, {"RANK=2"});
  EXPECT_EQ(half.exit_code, 0);
  EXPECT_NE(half.out.find("RANK=2 is set and WORLD_SIZE is not"), std::string::npos) << half.out;
}

}  // namespace
}  // namespace starling::cli
