#include "starling/core/cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "starling/core/error.h"

namespace starling {
namespace {

TEST(Cpu, HasAName) { EXPECT_FALSE(cpu_name().empty()); }

TEST(Cpu, HasACoreToRunOn) { EXPECT_GE(usable_cores(), 1); }

TEST(Cpu, FeaturesStayTheSame) { EXPECT_EQ(&cpu_features(), &cpu_features()); }

TEST(Cpu, ReadsTheSimdMode) {
  EXPECT_EQ(parse_simd_mode("auto"), SimdMode::kAuto);
  EXPECT_EQ(parse_simd_mode("baseline"), SimdMode::kBaseline);
  EXPECT_EQ(parse_simd_mode("avx2"), SimdMode::kAvx2);
  for (const char* text : {"", "AVX2", "avx512", "baseline "}) {
    EXPECT_THROW(parse_simd_mode(text), InvalidArgument) << text;
  }
}

TEST(Cpu, TakesTheSimdModeFromTheEnvironment) {
  const char* const before = std::getenv("STARLING_SIMD");
  const std::string saved = before != nullptr ? before : "";
  ::setenv("STARLING_SIMD", "baseline", 1);
  EXPECT_EQ(simd_mode(), SimdMode::kBaseline);
  ::setenv("STARLING_SIMD", "fast", 1);
  EXPECT_THROW(simd_mode(), InvalidArgument);
  ::setenv("STARLING_SIMD", "", 1);
  EXPECT_EQ(simd_mode(), SimdMode::kAuto);
  ::unsetenv("STARLING_SIMD");
  EXPECT_EQ(simd_mode(), SimdMode::kAuto);
  if (before != nullptr) ::setenv("STARLING_SIMD", saved.c_str(), 1);
}

}  // namespace
}  // namespace starling
