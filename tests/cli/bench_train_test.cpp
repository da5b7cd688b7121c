// `starling bench train`: what it refuses, its numbers, and one short run without DDP.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/bench/bench_train_options.h"
#include "cli/bench/bench_train_table.h"
#include "starling/core/error.h"
#include "tests/cli/program.h"

namespace starling::cli {
namespace {

using Json = nlohmann::json;

TEST(BenchTrain, HasTheDocumentedDefaults) {
  const BenchTrainOptions options = parse_options(BenchTrainText{});
  EXPECT_TRUE(options.ddp);
  EXPECT_EQ(options.slow, (std::vector<double>{1, 1}));
  ASSERT_EQ(options.strategies.size(), 5U);
  EXPECT_EQ(options.strategies[1], (Words{"allreduce", "--schedule", "ddp"}));
  EXPECT_EQ(options.steps, 60U);
  EXPECT_EQ(options.rounds, 3);
}

TEST(BenchTrain, SumsTheSpeedsOfUnequalWorkers) {
  BenchTrainText text;
  text.workers = "4";
  text.slow = {"1:4,3:2", "0:1.6"};
  const BenchTrainOptions options = parse_options(text);
  EXPECT_EQ(options.slow, (std::vector<double>{1.6, 4, 1, 2}));
  EXPECT_EQ(options.slowest(), 4);
  EXPECT_DOUBLE_EQ(options.summed_speed(), 0.625 + 0.25 + 1 + 0.5);
}

TEST(BenchTrain, RefusesWhatMakesNoSense) {
  const auto refused = [](const Words& flags, const std::string& value, const std::string& allowed) {
    Words words = {"bench", "train"};
    words.insert(words.end(), flags.begin(), flags.end());
    expect_refused(words, value, allowed);
  };
  refused({"--against", "horovod"}, "horovod", "ddp, none");
  refused({"--workers", "0"}, "0", "1 to 64");
  refused({"--workers", "65"}, "65", "1 to 64");
  refused({"--slow", "1"}, "'1'", "WORKER:FACTOR");
  refused({"--slow", "2:4"}, "2", "0 to 1");
  refused({"--slow", "1:0.5"}, "0.5", "1 to 1000");
  refused({"--slow", ""}, "''", "WORKER:FACTOR");
  refused({"--strategies", "gossip"}, "gossip", "allreduce");
  refused({"--strategies", "allreduce --mode asp"}, "--mode", "ps");
  refused({"--strategies", "allreduce,,ps"}, "''", "strategy");
  refused({"--strategies", ""}, "''", "strategy");
  refused({"--steps", "none"}, "none", "1 to");
  refused({"--rounds", "0"}, "0", "1 to 1000");
  refused({"--json", "/nonexistent/file"}, "/nonexistent/file", "--json");
}

TEST(BenchTrain, ComparesMedians) {
  TrainRow row{"starling", "ps --mode asp", {1, 4}, {100, 400, 150}, 300, 75};
  EXPECT_EQ(row.rate(), 150);
  EXPECT_EQ(row.vs_ddp(), 2);
  EXPECT_EQ(row.efficiency(), 0.5);
  EXPECT_EQ(line_of(row),
            "starling  ps --mode asp                  2  1:4              150    2.00        0.50");
  EXPECT_EQ(train_header().size(), line_of(row).size());
  row.rates.clear();
  row.ddp.reset();
  const Json json = to_json(row);
  for (const char* key : {"samples_per_second", "vs_ddp", "efficiency"})
    EXPECT_TRUE(json[key].is_null()) << key;
  EXPECT_EQ(json["workers"], 2);
}

bool has_trainer() {
#if defined(STARLING_PROGRAM)
  return std::filesystem::exists(std::filesystem::path(STARLING_PROGRAM).parent_path() / "starling-trainer");
#else
  return false;
#endif
}

TEST(BenchTrain, MeasuresWithoutDdp) {
  if (!has_trainer()) GTEST_SKIP() << "built without LibTorch";
  const Ran ran = run_program({"bench", "train", "--steps", "3", "--rounds", "1", "--workers", "2",
                               "--strategies", "allreduce", "--json", "-"},
                              {"STARLING_PYTHON=/nonexistent/python"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.err.find("ddp is missing: no Python with PyTorch"), std::string::npos) << ran.err;
  const Json json = Json::parse(ran.out);
  EXPECT_TRUE(json["missing"].contains("ddp"));
  ASSERT_EQ(json["results"].size(), 3U);
  EXPECT_EQ(json["results"][0]["system"], "plain");
  EXPECT_EQ(json["results"][1]["workers"], 1);
  EXPECT_EQ(json["results"][2]["slow"], Json({1, 1}));
  for (const Json& row : json["results"]) {
    EXPECT_GT(row["samples_per_second"], 0);
    EXPECT_GT(row["efficiency"], 0);
    EXPECT_TRUE(row["vs_ddp"].is_null());
  }
}

}  // namespace
}  // namespace starling::cli
