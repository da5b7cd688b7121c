#include "cli/simulate/simulate_seeds.h"

#include "tests/cli/simulate_runs.h"

namespace starling::cli {
namespace {

TEST(Spread, HasMeanDeviationAndQuantiles) {
  const Spread spread{"x", {4, 1, 3, 2}};
  EXPECT_DOUBLE_EQ(spread.mean(), 2.5);
  EXPECT_DOUBLE_EQ(spread.deviation(), std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(spread.quantile(0), 1);
  EXPECT_DOUBLE_EQ(spread.quantile(0.5), 2.5);
  EXPECT_DOUBLE_EQ(spread.quantile(0.25), 1.75);
  EXPECT_DOUBLE_EQ(spread.quantile(1), 4);
}

TEST(Spread, OfOneValueIsThatValue) {
  const Spread spread{"x", {7}};
  EXPECT_DOUBLE_EQ(spread.mean(), 7);
  EXPECT_DOUBLE_EQ(spread.deviation(), 0);
  for (const double share : {0.0, 0.3, 1.0}) EXPECT_DOUBLE_EQ(spread.quantile(share), 7);
}

TEST(Seeds, AreTheRunsThatTheyWouldBeAlone) {
  const std::string flags =
      "--workers 4 --jitter exponential --steps 30 --strategy ps --mode asp --target-loss 1";
  const std::string study = output_of(simulate(flags + " --seeds 1..20 --json"));
  EXPECT_EQ(output_of(simulate(flags + " --seeds 1..20 --json")), study)
      << "whichever thread runs which seed";
  const Json json = Json::parse(study);
  ASSERT_EQ(json["runs"].size(), 20U);
  for (const int seed : {1, 7, 20}) {
    Json alone = summary_of(concat(flags, " --seed ", seed));
    alone.erase("wall_seconds");
    Json within = json["runs"][static_cast<std::size_t>(seed - 1)];
    EXPECT_EQ(within["seed"], seed);
    within.erase("seed");
    EXPECT_EQ(within, alone);
  }
  EXPECT_EQ(json["spread"]["final loss"]["seeds"], 20);
  EXPECT_EQ(json["diverged"], 0);
}

TEST(Seeds, AreWrittenToTheSummary) {
  const testing::TemporaryFolder folder;
  const std::string out = folder.path() + "/study";
  output_of(simulate("--steps 5 --force --out " + out));
  const std::string table = output_of(simulate("--steps 5 --seeds 3..4 --force --out " + out));
  EXPECT_EQ(files_in(out), "run.json, summary.json") << "those of the earlier run are gone";
  EXPECT_EQ(Json::parse(content_of(out + "/summary.json"))["seeds"], Json({3, 4}));
  EXPECT_EQ(Json::parse(content_of(out + "/run.json"))["seeds"], Json({3, 4}));
  EXPECT_NE(table.find("final loss"), std::string::npos);
  expect_refused(simulate("--steps 5 --seeds 3..4 --out " + out), concat("'", out, "'"), "--force");
}

TEST(Seeds, CountWorkersThatNeverCame) {
  const Json json = summary_of("--strategy ps --join 3@50s --time 2s --seeds 1..2");
  EXPECT_EQ(json["spread"]["mean wait share"]["seeds"], 2);
  EXPECT_TRUE(json["runs"][0]["wait_fraction_per_worker"][3].is_null());
}

}  // namespace
}  // namespace starling::cli
