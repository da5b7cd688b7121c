#include "starling/sim/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "starling/core/error.h"
#include "tests/sim/training.h"

namespace starling::sim {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view text, const WorkloadSetting& setting = {}) {
  try {
    make_workload(text, setting, "--workload");
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

TEST(Workload, MakesAllThatItNames) {
  EXPECT_THAT(workload_names(),
              ::testing::IsSupersetOf({"quadratic", "logistic", "mlp", "replay:bert-large"}));
  for (const std::string& name : workload_names()) {
    const auto work = make_workload(name, {}, "--workload");
    EXPECT_GT(work->parameters(), 0u) << name;
    EXPECT_GT(work->batch(), 0u) << name;
    EXPECT_EQ(work->ghost(), work->times().has_value()) << name;
  }
}

TEST(Workload, TakesTheSetting) {
  WorkloadSetting setting;
  setting.parameters = 7;
  setting.batch = 5;
  for (const std::string& name : workload_names()) {
    EXPECT_EQ(make_workload(name, setting, "")->batch(), 5u) << name;
  }
  EXPECT_EQ(make_workload("quadratic", setting, "")->parameters(), 7u);
  EXPECT_EQ(make_workload("logistic", setting, "")->parameters(), 7u);
}

TEST(Workload, RefusesUnknownNames) {
  for (const std::string_view text : {"", "cubic", "replay", "replay:", "replay:lenet", "quadratic "}) {
    EXPECT_THAT(refusal(text), HasSubstr(concat("--workload: unknown workload '", text, "'; allowed: ")));
    EXPECT_THAT(refusal(text), HasSubstr("quadratic, logistic, mlp, replay:resnet50, "));
  }
}

TEST(Workload, RefusesSettingsOutOfRange) {
  WorkloadSetting setting;
  setting.parameters = 0;
  EXPECT_EQ(refusal("quadratic", setting), "--workload: parameters is 0; allowed: 1 to 1000000000");
  setting.parameters = 2'000'000'000;
  EXPECT_THAT(refusal("quadratic", setting), HasSubstr("parameters is 2000000000"));
  setting = {};
  setting.workers = 0;
  EXPECT_THAT(refusal("mlp", setting), HasSubstr("workers is 0"));
  setting = {};
  setting.batch = 1'000'001;
  EXPECT_THAT(refusal("mlp", setting), HasSubstr("batch is 1000001"));
}

TEST(Workload, RefusesNoiseThatIsNone) {
  WorkloadSetting setting;
  for (const double noise : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    setting.noise = noise;
    EXPECT_THAT(refusal("quadratic", setting), HasSubstr("noise is "));
  }
}

// FNV-1a of the bits of a model after 100 steps. Found once with GCC; every other build must agree.
TEST(Workload, TrainsToTheSameBitsInEveryBuild) {
  const std::map<std::string, std::uint64_t> expected = {{"quadratic", 16338874111620033049u},
                                                         {"logistic", 16031351768030766006u},
                                                         {"mlp", 10049688905104265730u}};
  WorkloadSetting setting;
  setting.workers = 3;
  for (const auto& [name, hash] : expected) {
    std::uint64_t found = 0xcbf29ce484222325;
    for (const float value : train(*make_workload(name, setting, ""), 3, 100, 0.1)) {
      found = (found ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3;
    }
    EXPECT_EQ(found, hash) << name;
  }
}

TEST(StepTimes, SumsBothPasses) {
  const StepTimes times{{1, 2}, {3, 4}};
  EXPECT_EQ(times.total(), 10);
  EXPECT_EQ(StepTimes{}.total(), 0);
}

}  // namespace
}  // namespace starling::sim
