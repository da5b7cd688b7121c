// The command `starling analyse`.
#include <gtest/gtest.h>

#include "tests/cli/bad_input.h"
#include "tests/cli/simulate_runs.h"

namespace starling::cli {
namespace {

using testing::TemporaryFolder;

Words analyse(const std::string& flags) {
  Words words{"analyse"};
  for (const std::string& word : split(flags, ' ')) words.push_back(word);
  return words;
}

const Json& row_of(const Json& json, const std::string& name) {
  for (const Json& row : json["rows"]) {
    if (row["name"] == name) return row;
  }
  ADD_FAILURE() << "no row " << name << " in " << json.dump(1);
  return json["rows"][0];
}

TEST(Analyse, PrintsFormulasAlone) {
  const std::string text = output_of(analyse("--workers 8 --jitter exponential --no-simulation"));
  EXPECT_NE(text.find("8 workers, jitter exponential"), std::string::npos) << text;
  EXPECT_NE(text.find("sync"), std::string::npos);
  EXPECT_NE(text.find("2.718"), std::string::npos) << text;
  EXPECT_EQ(text.find("simulated"), std::string::npos) << text;
}

TEST(Analyse, ShowsBothWithAVerdict) {
  const std::string text = output_of(analyse("--workers 4 --jitter lognormal:0.5 --steps 30 --seeds 1..8"));
  EXPECT_NE(text.find("simulated"), std::string::npos) << text;
  EXPECT_NE(text.find("between"), std::string::npos) << text;
  EXPECT_NE(text.find("with a chance of 99 %"), std::string::npos) << text;
  EXPECT_NE(text.find("No row is outside."), std::string::npos) << text;
}

TEST(Analyse, TheSameFlagsPrintTheSame) {
  const Words words = analyse("--workers 4 --jitter pareto:4 --steps 20 --seeds 1..4");
  EXPECT_EQ(output_of(words), output_of(words));
}

TEST(Analyse, WritesJsonAndAPicture) {
  const TemporaryFolder folder;
  const std::string json_path = folder.path() + "/a.json", svg_path = folder.path() + "/a.svg";
  const std::string flags = "--workers 8 --jitter exponential --slow 0:4 --steps 30 --seeds 1..6 --backup 2";
  const std::string text = output_of(analyse(flags + " --json " + json_path + " --svg " + svg_path));
  EXPECT_NE(text.find("picture in " + svg_path), std::string::npos);
  const Json json = Json::parse(content_of(json_path));
  EXPECT_EQ(json["workers"], 8);
  const Json& sync = row_of(json, "sync");
  EXPECT_NEAR(sync["formula"]["seconds_per_step"]["low"].get<double>(), 4.774323, 1e-6);
  EXPECT_EQ(sync["exact"], true);
  EXPECT_EQ(sync["verdict"], "inside");
  EXPECT_GT(sync["simulated"]["seconds_per_step"]["half_width"], 0);
  EXPECT_EQ(row_of(json, "backup workers, 2")["exact"], false);
  EXPECT_TRUE(row_of(json, "balanced, speeds measured")["formula"]["seconds_per_step"]["high"].is_null());
  const std::string svg = content_of(svg_path);
  EXPECT_EQ(svg.find("<svg "), 0U);
  EXPECT_NE(svg.find(">SSP, staleness 3 (bounds)<"), std::string::npos);
  EXPECT_NE(svg.find(">workers<"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Analyse, StepTimeAndCommunicationAreInSeconds) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a.json";
  output_of(analyse(
      "--workers 2 --jitter exponential --step-time 100ms --comm 10ms --period 5 --no-simulation --json " +
      path));
  const Json json = Json::parse(content_of(path));
  const auto seconds = [&](const char* name) {
    return row_of(json, name)["formula"]["seconds_per_step"]["low"].get<double>();
  };
  EXPECT_NEAR(seconds("sync"), 0.16, 1e-9);
  EXPECT_NEAR(seconds("local SGD, period 5"), 0.1246094 + 0.002, 1e-6);
  EXPECT_NEAR(seconds("asynchronous bound"), 0.1, 1e-9);
}

class BadAnalysis : public ::testing::TestWithParam<Bad> {};

TEST_P(BadAnalysis, IsRefused) {
  expect_refused(analyse(GetParam().flags), GetParam().value, GetParam().allowed);
}

INSTANTIATE_TEST_SUITE_P(
    Flags, BadAnalysis,
    ::testing::Values(
        Bad{"--workers 1", "'1'", "from 2 to 1024"}, Bad{"--workers 2000", "'2000'", "from 2 to 1024"},
        Bad{"--jitter gamma", "'gamma'", "exponential"},
        Bad{"--jitter-span 3 --jitter exponential", "'3'", "piece, step"},
        Bad{"--slow 0:4@5s", "'0:4@5s'", "for all of it"}, Bad{"--slow 20:4", "'20:4'", "workers 0 to 15"},
        Bad{"--backup 16", "'16'", "from 1 to 15"}, Bad{"--quorum 16", "'16'", "from 1 to 15"},
        Bad{"--backup 0", "'0'", "from 1"}, Bad{"--period 0", "'0'", "from 1 to 1000"},
        Bad{"--staleness 1000", "'1000'", "from 1 to 100"}, Bad{"--pieces 0", "'0'", "from 1 to 256"},
        Bad{"--batch 30 --pieces 8", "30", "multiples of --pieces"},
        Bad{"--deadline 0", "'0'", "more than 0"}, Bad{"--comm -1s", "'-1s'", "a number from 0"},
        Bad{"--step-time 0s", "'0s'", "more than 0"}, Bad{"--seeds 1..2", "'1..2'", "3 or more"},
        Bad{"--seeds 7", "'7'", "FIRST..LAST"}, Bad{"--steps 0", "'0'", "from 1"},
        Bad{"--strategy ps", "--strategy", "--help"}));

TEST(Analyse, AFileThatCannotBeWrittenIsNamed) {
  const Ran ran = run_program(analyse("--workers 2 --no-simulation --json /nonexistent/a.json"));
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_NE(ran.err.find("/nonexistent/a.json"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace starling::cli
