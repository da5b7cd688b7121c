// `starling bench train`: what it refuses, its numbers, and one short run without DDP.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/bench/bench_train_options.h"
#include "cli/bench/bench_train_table.h"
#include "cli/bench/core_limit.h"
#include "cli/bench/time_shares.h"
#include "starling/core/cpu.h"
#include "starling/core/error.h"
#include "tests/cli/program.h"

namespace starling::cli {
namespace {

TEST(BenchTrain, HasTheDocumentedDefaults) {
  const BenchTrainOptions options = parse_options(BenchTrainFlags{});
  EXPECT_TRUE(options.ddp);
  EXPECT_EQ(options.slow, (std::vector<double>{1, 1}));
  ASSERT_EQ(options.strategies.size(), 5U);
  EXPECT_EQ(options.strategies[1], (Words{"allreduce", "--schedule", "ddp"}));
  EXPECT_EQ(options.steps, 60U);
  EXPECT_EQ(options.rounds, 3);
}

TEST(BenchTrain, SumsTheSpeedsOfUnequalWorkers) {
  BenchTrainFlags flags;
  flags.workers = {4, "4"};
  flags.slow = {"1:4,3:2", "0:1.6"};
  const BenchTrainOptions options = parse_options(flags);
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
  refused({"--slow", "1:4@2s-3s"}, "'1:4@2s-3s'", "for the whole run");
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
            "starling  ps --mode asp                  2  1:4              150   200 %    2.00        0.50");
  EXPECT_EQ(train_header().size(), line_of(row).size());
  row.rates.clear();
  row.ddp.reset();
  const Json json = to_json(row);
  for (const char* key : {"samples_per_second", "spread", "vs_ddp", "efficiency"})
    EXPECT_TRUE(json[key].is_null()) << key;
  EXPECT_EQ(json["workers"], 2);
}

// The numbers are those that were printed when spans were counted instead of steps.
TEST(BenchTrain, RefusesAResultThatContradictsPhysics) {
  TrainRow row{"starling", "allreduce --schedule ddp", {1, 1}, {20447, 20447, 20000}, 2124, 1363};
  const std::string why = contradiction(row).value_or("");
  EXPECT_NE(why.find("starling allreduce --schedule ddp with 2 workers cannot make 20447 samples/s"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("9.63 of the 2124"), std::string::npos) << why;
  EXPECT_EQ(to_json(row)["possible"], false);
}

TEST(BenchTrain, ATenthMoreThanThePlainLoopsIsNoise) {
  TrainRow row{"starling", "allreduce", {1}, {1100}, 1000, {}};
  EXPECT_EQ(contradiction(row), std::nullopt);
  EXPECT_EQ(to_json(row)["possible"], true);
  row.rates = {1101};
  EXPECT_NE(contradiction(row), std::nullopt);
  row.limit.reset();
  EXPECT_EQ(contradiction(row), std::nullopt);
}

TEST(BenchTrain, TellsWhereTheTimeGoes) {
  const Json summary = {{"compute_fraction_per_worker", {0.7, 0.9}},
                        {"wait_fraction_per_worker", {0.1, nullptr}},
                        {"transfer_fraction_per_worker", {0.1, 0.1}}};
  const TimeShares shares = mean_of({shares_in(summary), shares_in(summary)});
  EXPECT_EQ(text_of(shares),
            "80 % computing, 5 % waiting for others, 10 % transferring, 5 % updating and the rest");
}

TEST(BenchTrain, UsesAsManyCoresAsItHasWorkers) {
  const int cores = usable_cores();
  {
    const CoreLimit limit(1);
    EXPECT_EQ(usable_cores(), 1);
  }
  EXPECT_EQ(usable_cores(), cores);
  const CoreLimit all(cores + 1);
  EXPECT_EQ(usable_cores(), cores);
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
  const Ran ran = run_program({"bench", "train", "--steps", "5", "--rounds", "1", "--workers", "2",
                               "--strategies", "allreduce,allreduce --schedule ddp", "--json", "-"},
                              {"STARLING_PYTHON=/nonexistent/python"});
  EXPECT_NE(ran.err.find("ddp is missing: no Python with PyTorch"), std::string::npos) << ran.err;
  const Json json = Json::parse(ran.out);
  EXPECT_TRUE(json["missing"].contains("ddp"));
  ASSERT_EQ(json["results"].size(), 5U);
  EXPECT_EQ(json["results"][0]["system"], "plain");
  EXPECT_EQ(json["results"][1]["system"], "plain");
  EXPECT_EQ(json["results"][2]["workers"], 1);
  EXPECT_EQ(json["results"][3]["slow"], Json({1, 1}));
  // Beside other tests a contestant may seem faster than the machine: exactly then the benchmark fails, and
  // says so.
  bool possible = true;
  for (const Json& row : json["results"]) {
    EXPECT_GT(row["samples_per_second"], 0);
    EXPECT_GT(row["efficiency"], 0);
    EXPECT_EQ(row["possible"], row["efficiency"] <= 1.1);
    EXPECT_TRUE(row["vs_ddp"].is_null());
    possible = possible && row["possible"] == true;
  }
  EXPECT_EQ(ran.exit_code, possible ? 0 : 1) << ran.err;
  EXPECT_EQ(ran.err.find("or the machine was not quiet\n") == std::string::npos, possible) << ran.err;
}

}  // namespace
}  // namespace starling::cli
