#include "starling/join/output_options.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "tests/support/refusal.h"

namespace starling::join {
namespace {

using testing::refusal;

TEST(OutputOptions, WithoutVariablesARunLeavesNothing) {
  EXPECT_EQ(read_output_options({}), OutputOptions());
  EXPECT_TRUE(variables_of(OutputOptions()).empty());
}

TEST(OutputOptions, VariablesAreReadBack) {
  const OutputOptions given{.out = "runs/x",
                            .checkpoint_every = 100,
                            .resume = "runs/y",
                            .steps = 500,
                            .max_time = std::chrono::milliseconds(1500),
                            .record = "summary",
                            .progress = true};
  EnvironmentVariables variables;
  for (const auto& [name, value] : variables_of(given)) variables[name] = value;
  EXPECT_EQ(variables.size(), 7U);
  EXPECT_EQ(read_output_options(variables), given);
}

TEST(OutputOptions, BadValuesAreNamed) {
  EXPECT_NE(refusal([] {
              read_output_options({{"STARLING_PROGRESS", "yes"}});
            }).find("allowed: on, off"),
            std::string::npos);
  EXPECT_NE(refusal([] {
              read_output_options({{"STARLING_OUT", "x"}, {"STARLING_CHECKPOINT_EVERY", "0"}});
            }).find("STARLING_CHECKPOINT_EVERY"),
            std::string::npos);
  EXPECT_NE(refusal([] {
              read_output_options({{"STARLING_CHECKPOINT_EVERY", "5"}});
            }).find("STARLING_OUT"),
            std::string::npos);
}

}  // namespace
}  // namespace starling::join
