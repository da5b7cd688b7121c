// The pages of the strategies have the tables that `starling strategies --markdown` prints.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/strategies.h"
#include "starling/core/text.h"

namespace starling::cli {
namespace {

void expect_page_has(const std::string& name, const std::string& table, const std::string& command) {
  const std::string path = concat(STARLING_SOURCE_DIR, "/docs/strategies/", name);
  std::ifstream file(path);
  ASSERT_TRUE(file.is_open()) << "there is no " << path;
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(table), std::string::npos)
      << path << " should have what `" << command << "` prints:\n"
      << table;
}

TEST(Docs, EveryStrategyHasAPage) {
  for (const strategy::StrategyEntry& row : strategy::registry()) {
    expect_page_has(row.name + ".md", strategy_markdown(row),
                    concat("starling strategies ", row.name, " --markdown"));
  }
}

TEST(Docs, TheOverviewHasEveryStrategy) {
  expect_page_has("README.md", strategies_markdown(), "starling strategies --markdown");
}

}  // namespace
}  // namespace starling::cli
