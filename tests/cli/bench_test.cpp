// The benchmark as a whole, without peers and with peers that cannot be had.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "starling/core/text.h"
#include "tests/cli/program.h"

namespace starling::cli {
namespace {

TEST(BenchCollectives, WritesJsonToStdout) {
  const Ran ran = run_program({"bench", "collectives", "--ranks", "2", "--sizes", "1k,64k", "--against",
                               "none", "--rounds", "3", "--json", "-"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json json = Json::parse(ran.out);
  EXPECT_TRUE(json["machine"]["cpu"].is_string());
  EXPECT_GE(json["machine"]["cores"], 1);
  EXPECT_TRUE(json["machine"]["date"].is_string());
  EXPECT_NE(json["command"].get<std::string>().find("bench collectives --ranks 2"), std::string::npos);
  ASSERT_EQ(json["results"].size(), 2);
  for (const Json& row : json["results"]) {
    EXPECT_EQ(row["op"], "allreduce");
    EXPECT_EQ(row["ranks"], 2);
    EXPECT_GT(row["starling_us"], 0);
    EXPECT_GT(row["memory_share"], 0);
    for (const char* key : {"mpi_us", "gloo_us", "vs_mpi", "vs_gloo"}) {
      ASSERT_TRUE(row.contains(key)) << key;
      EXPECT_TRUE(row[key].is_null()) << key;
    }
  }
  EXPECT_EQ(json["results"][0]["bytes"], 1024);
  EXPECT_EQ(json["results"][1]["bytes"], 65536);
}

TEST(BenchCollectives, MeasuresEveryOperationAndRankCount) {
  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / concat("bench.", getpid(), ".json");
  const Ran ran = run_program({"bench", "collectives", "--ranks", "1,3", "--sizes", "4", "--against", "none",
                               "--ops", "allreduce,broadcast,allgather", "--rounds", "1", "--json", file});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  const Json results = Json::parse(std::ifstream(file))["results"];
  std::filesystem::remove(file);
  ASSERT_EQ(results.size(), 6);
  for (const Json& row : results) {
    EXPECT_GT(row["starling_us"], 0);
    EXPECT_EQ(row["memory_share"].is_null(), row["ranks"] == 1);
    EXPECT_NE(ran.out.find(row["op"]), std::string::npos);
  }
}

TEST(BenchCollectives, SaysWhyAPeerIsMissing) {
  const Ran ran = run_program({"bench", "collectives", "--ranks", "2", "--sizes", "1k", "--rounds", "1"},
                              {"STARLING_PYTHON=/nonexistent/python", "PATH=/nonexistent"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("mpi is missing: no mpirun in PATH\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("gloo is missing: "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("/nonexistent/python: not there"), std::string::npos) << ran.out;
}

// A Python that passes the check and then fails as a peer, and an mpirun that fails at once.
TEST(BenchCollectives, GoesOnWithoutAPeerThatFails) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / concat("peers.", getpid());
  fs::create_directory(folder);
  const auto write_script = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(folder / name, fs::perms::owner_all);
  };
  write_script("mpirun", "echo no slots left >&2; exit 3");
  write_script("python", "if [ \"$1\" = -c ]; then exit 0; fi; echo out of luck >&2; exit 1");
  const Ran ran = run_program(
      {"bench", "collectives", "--ranks", "2", "--sizes", "1k,2k", "--rounds", "1", "--json", "-"},
      {concat("STARLING_PYTHON=", (folder / "python").string()),
       concat("PATH=", folder.string(), ":/usr/bin:/bin")});
  fs::remove_all(folder);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json json = Json::parse(ran.out);
  EXPECT_EQ(json["missing"]["gloo"], "ranks 0, 1 did not start: out of luck");
  ASSERT_EQ(json["results"].size(), 2);
  for (const Json& row : json["results"]) {
    EXPECT_TRUE(row["gloo_us"].is_null());
    EXPECT_TRUE(row["mpi_us"].is_null());
    EXPECT_GT(row["starling_us"], 0);
  }
}

}  // namespace
}  // namespace starling::cli
