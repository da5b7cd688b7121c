#include "cli/strategies.h"

#include <gtest/gtest.h>

#include "starling/core/text.h"
#include "tests/cli/program.h"

namespace starling::cli {
namespace {

std::string output_of(const Words& arguments) {
  const Ran ran = run_program(arguments);
  EXPECT_EQ(ran.exit_code, 0) << join_texts(arguments, " ");
  EXPECT_EQ(ran.err, "");
  return ran.out;
}

TEST(Strategies, ListsAll) {
  const std::string text = output_of({"strategies"});
  const std::string help = output_of({"simulate", "--help"});
  std::vector<std::string> names;
  for (const strategy::StrategyEntry& row : strategy::registry()) {
    EXPECT_NE(concat("\n", text).find(concat("\n", row.name, " ")), std::string::npos) << row.name;
    EXPECT_NE(text.find(row.summary), std::string::npos) << row.name;
    names.push_back(row.name);
  }
  EXPECT_NE(help.find(join_texts(names)), std::string::npos) << help;
}

// A flag that the commands have themselves would never get to the strategy.
TEST(Strategies, NoOptionHasTheNameOfAFlag) {
  for (const std::string command : {"simulate", "train", "launch"}) {
    const std::string help = output_of({command, "--help"});
    for (const strategy::StrategyEntry& row : strategy::registry()) {
      for (const strategy::OptionSpec& option : row.options) {
        EXPECT_EQ(help.find(concat("\n  --", option.name, " ")), std::string::npos)
            << command << " --" << option.name << " of " << row.name;
      }
    }
  }
}

TEST(Strategies, ShowsTheOptionsAndPromisesOfOne) {
  for (const strategy::StrategyEntry& row : strategy::registry()) {
    const std::string text = output_of({"strategies", row.name});
    EXPECT_TRUE(text.starts_with(concat(row.name, ": ", row.summary, "\n")));
    EXPECT_NE(text.find(row.promises.waits_for), std::string::npos);
    for (const strategy::OptionSpec& option : row.options) {
      EXPECT_NE(text.find(concat("--", option.name)), std::string::npos) << option.name;
      EXPECT_NE(text.find(concat(option.allowed(), "; default ", option.fallback)), std::string::npos)
          << option.name;
    }
  }
}

TEST(Strategies, PrintsTheTablesOfTheDocumentation) {
  EXPECT_EQ(output_of({"strategies", "--markdown"}), strategies_markdown());
  for (const strategy::StrategyEntry& row : strategy::registry()) {
    EXPECT_EQ(output_of({"strategies", row.name, "--markdown"}), strategy_markdown(row));
    EXPECT_EQ(output_of({"strategies", "--markdown", row.name}), strategy_markdown(row));
  }
}

TEST(Strategies, RefusesOthers) {
  for (const strategy::StrategyEntry& row : strategy::registry()) {
    expect_refused({"strategies", "nope"}, "'nope'", row.name);
  }
  expect_refused({"strategies", "alreduce"}, "'alreduce'", "did you mean 'allreduce'?");
  expect_refused({"strategies", ""}, "''", "there are allreduce");
  expect_refused({"strategies", "ps", "more"}, "more", "see starling strategies --help");
  expect_refused({"strategies", "--frobnicate"}, "--frobnicate", "see starling strategies --help");
}

}  // namespace
}  // namespace starling::cli
