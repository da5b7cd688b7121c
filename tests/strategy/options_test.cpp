#include "starling/strategy/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "starling/strategy/registry.h"

namespace starling::strategy {
namespace {

std::vector<OptionSpec> specs() {
  return {OptionSpec::integer("period", 10, 1, 1000, "steps"),
          OptionSpec::number("rho", "0.5", 0, 1, "pull"),
          OptionSpec::number_or("alpha", {"auto"}, 0, 2, "elasticity"),
          OptionSpec::flag("overlap", "while computing"),
          OptionSpec::choice("mode", {"bsp", "asp"}, "whom to wait for"),
          OptionSpec::integer("backup", 0, 0, 9, "not waited for").with("mode=bsp"),
          OptionSpec::size_or("bucket", {"none"}, "together"),
          OptionSpec::text("graph", "ring", "shape")};
}

Options parse(const OptionTexts& given) { return Options::parse(specs(), "toy", given); }

std::string refusal(const OptionTexts& given) {
  try {
    parse(given);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Options, DefaultsHold) {
  const Options options = parse({});
  EXPECT_EQ(options.integer("period"), 10);
  EXPECT_EQ(options.number("rho"), 0.5);
  EXPECT_FALSE(options.flag("overlap"));
  EXPECT_EQ(options.text("mode"), "bsp");
  EXPECT_FALSE(options.size("bucket"));
  EXPECT_FALSE(options.number_unless_word("alpha"));
  EXPECT_EQ(options.text("graph"), "ring");
}

TEST(Options, GivenValuesCount) {
  const Options options =
      parse({{"period", "7"}, {"rho", "1e-3"}, {"overlap", "1"}, {"mode", "asp"}, {"graph", "file:edges"}});
  EXPECT_EQ(options.integer("period"), 7);
  EXPECT_EQ(options.number("rho"), 1e-3);
  EXPECT_TRUE(options.flag("overlap"));
  EXPECT_EQ(options.text("mode"), "asp");
  EXPECT_EQ(options.text("graph"), "file:edges");
  EXPECT_EQ(parse({{"alpha", "0.25"}}).number_unless_word("alpha"), 0.25);
  EXPECT_FALSE(parse({{"alpha", "auto"}}).number_unless_word("alpha"));
  EXPECT_EQ(parse({{"bucket", "64k"}}).size("bucket"), 65536U);
  EXPECT_EQ(parse({{"bucket", "1"}}).size("bucket"), 1U);
  EXPECT_FALSE(parse({{"bucket", "none"}}).size("bucket"));
}

TEST(Options, RefusalsNameTheValueAndWhatIsAllowed) {
  EXPECT_EQ(refusal({{"period", "0"}}),
            "strategy toy, option period: '0'; allowed: a whole number from 1 to 1000");
  EXPECT_EQ(refusal({{"alpha", "3"}}),
            "strategy toy, option alpha: '3'; allowed: auto, or a number from 0 to 2");
  EXPECT_EQ(refusal({{"period", "7.5"}}),
            "strategy toy, option period: '7.5'; allowed: a whole number from 1 to 1000");
  EXPECT_EQ(refusal({{"rho", "nan"}}), "strategy toy, option rho: 'nan'; allowed: a number from 0 to 1");
  EXPECT_EQ(refusal({{"rho", ""}}), "strategy toy, option rho: ''; allowed: a number from 0 to 1");
  EXPECT_EQ(refusal({{"overlap", "yes"}}), "strategy toy, option overlap: 'yes'; allowed: 0, 1");
  EXPECT_EQ(refusal({{"mode", "foo"}}), "strategy toy, option mode: 'foo'; allowed: bsp, asp");
  for (const std::string text : {"0", "0k", "", "some", "1.5m", "-1", "99999999999999999999"}) {
    EXPECT_EQ(refusal({{"bucket", text}}),
              concat("strategy toy, option bucket: '", text,
                     "'; allowed: none, or bytes from 1 on with an optional k, m or g"));
  }
  EXPECT_EQ(refusal({{"graph", ""}}), "strategy toy, option graph: ''; allowed: text");
  EXPECT_EQ(
      refusal({{"perod", "3"}}),
      "strategy toy has no option 'perod', did you mean 'period'?; it has period, rho, alpha, overlap, mode, "
      "backup, bucket, graph");
}

TEST(Options, AnOptionMayBelongToAValueOfAnother) {
  EXPECT_EQ(parse({{"mode", "bsp"}, {"backup", "2"}}).integer("backup"), 2);
  EXPECT_EQ(refusal({{"mode", "asp"}, {"backup", "2"}}),
            "strategy toy, option backup: it belongs to mode=bsp, and mode is asp");
}

TEST(Options, RunJsonHasKeysWithUnderscores) {
  const std::vector<OptionSpec> specs{OptionSpec::integer("group-size", 2, 1, 9, "members"),
                                      OptionSpec::integer("period", 1, 1, 9, "steps").recorded_as("section")};
  const Options options = Options::parse(specs, "toy", {{"group-size", "3"}});
  EXPECT_EQ(options.integer("group-size"), 3);
  EXPECT_EQ(options.recorded(), (std::map<std::string, std::string>{{"group_size", "3"}, {"section", "1"}}));
  const auto refusal_of = [&](const OptionTexts& given) -> std::string {
    try {
      Options::parse(specs, "toy", given);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal_of({{"group_size", "3"}}), "strategy toy, option group_size: spelt group-size");
  EXPECT_EQ(refusal_of({{"section", "3"}}), "strategy toy, option section: spelt period");
}

TEST(Registry, OptionsAreSpeltWithDashes) {
  for (const StrategyEntry& row : registry()) {
    for (const OptionSpec& option : row.options) {
      EXPECT_EQ(option.name.find('_'), std::string::npos) << row.name << " " << option.name;
      EXPECT_EQ(option.key().find('-'), std::string::npos) << row.name << " " << option.key();
    }
  }
}

TEST(Registry, AnUnknownNameIsRefusedWithTheNearest) {
  try {
    find_strategy("alreduce");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("did you mean 'allreduce'?"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("local-sgd"));
  }
}

}  // namespace
}  // namespace starling::strategy
