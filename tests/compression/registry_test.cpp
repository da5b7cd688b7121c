#include "starling/compression/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "starling/compression/error_feedback.h"
#include "starling/core/error.h"
#include "tests/compression/vectors.h"

namespace starling::compression {
namespace {

using testing::code_of;
using testing::compressor;
using testing::decoded;
using testing::gaussian;
using testing::there_and_back;

// All kinds, with parameters and together with others.
const std::vector<std::string>& all_texts() {
  static const std::vector<std::string> texts{
      "fp16",       "bf16",           "int8",    "int8:64:stochastic", "int4",
      "int4:32",    "topk:0.05",      "topk:1",  "topk:0.1+int4",      "topk:0.02+fp16",
      "randk:0.05", "randk:0.1+int8", "randk:1", "powersgd:1",         "powersgd:4"};
  return texts;
}

// Two matrices, a bias, and a tensor without elements.
const Layout kLayout{{{0, 6000}, 60}, {{6000, 6060}, 1}, {{6060, 6060}, 1}, {{6060, 9000}, 30}};

class OfKind : public ::testing::TestWithParam<std::string> {};

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kinds, OfKind, ::testing::ValuesIn(all_texts()), test_name);

TEST_P(OfKind, DecodesWhatItAdds) {
  const auto one = compressor(GetParam(), kLayout);
  const std::vector<float> values = gaussian(9000, 1);
  const std::vector<std::byte> code = code_of(*one, values);
  const std::vector<float> plain = decoded(*one, code, values.size());
  std::vector<float> sum(values.size(), 1.0F);
  one->add(code, 1, -2, sum);
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], 1 - 2 * plain[i], 1e-5F) << i;
}

TEST_P(OfKind, SameInputSameBits) {
  const auto first = compressor(GetParam(), kLayout), second = compressor(GetParam(), kLayout);
  for (std::uint64_t number = 1; number <= 5; ++number) {
    const std::vector<float> values = gaussian(9000, number);
    const std::vector<std::byte> code = code_of(*first, values, number);
    EXPECT_EQ(code, code_of(*second, values, number));
    EXPECT_EQ(decoded(*first, code, 9000, number), decoded(*second, code, 9000, number));
  }
}

TEST_P(OfKind, ZerosAreACodeOfZeros) {
  const auto one = compressor(GetParam(), kLayout);
  const std::vector<float> zeros(9000);
  EXPECT_EQ(decoded(*one, std::vector<std::byte>(one->code_bytes()), 9000), zeros);
  EXPECT_EQ(there_and_back(*one, zeros), zeros);
}

TEST_P(OfKind, WhatIsNotFiniteStaysSo) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    const auto one = compressor(GetParam(), plain_layout(500));
    std::vector<float> values(500, bad);
    const std::vector<float> back = there_and_back(*one, values);
    EXPECT_TRUE(std::any_of(back.begin(), back.end(), [](float x) { return !std::isfinite(x); })) << bad;
  }
}

// Over many steps the sum of what was sent and of what is left is that of what was meant.
TEST_P(OfKind, FeedbackLosesNothing) {
  const auto one = compressor(GetParam(), kLayout);
  ErrorFeedback feedback(*one, 9000);
  std::vector<double> meant(9000), sent(9000);
  for (std::uint64_t number = 1; number <= 50; ++number) {
    const std::vector<float> values = gaussian(9000, number);
    std::vector<std::byte> code(one->code_bytes());
    feedback.encode(values, number, code);
    const std::vector<float> back = decoded(*one, code, 9000, number);
    for (std::size_t i = 0; i < values.size(); ++i) {
      meant[i] += static_cast<double>(values[i]);
      sent[i] += static_cast<double>(back[i]);
    }
  }
  for (std::size_t i = 0; i < meant.size(); ++i) {
    EXPECT_NEAR(sent[i] + static_cast<double>(feedback.residual()[i]), meant[i], 2e-4) << i;
  }
}

// Bit for bit, in each step, where the header of ErrorFeedback says so.
TEST_P(OfKind, FeedbackIsExactWhereItCanBe) {
  const std::string& text = GetParam();
  const bool rounds_at_random = text.find("stochastic") != std::string::npos;
  if (rounds_at_random || text.find("powersgd") == 0) {
    EXPECT_TRUE(parse_rule(text, "test")->kind->feedback);
    return;
  }
  const auto one = compressor(text, kLayout);
  ErrorFeedback feedback(*one, 9000);
  std::vector<float> residual(9000);
  for (std::uint64_t number = 1; number <= 20; ++number) {
    const std::vector<float> values = gaussian(9000, number);
    std::vector<float> meant(9000);
    for (std::size_t i = 0; i < meant.size(); ++i) meant[i] = residual[i] + values[i];
    std::vector<std::byte> code(one->code_bytes());
    feedback.encode(values, number, code);
    residual.assign(feedback.residual().begin(), feedback.residual().end());
    std::vector<float> sum = decoded(*one, code, 9000, number);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += residual[i];
    EXPECT_EQ(sum, meant);
  }
}

TEST_P(OfKind, WhatWasSentInVainComesBack) {
  const auto one = compressor(GetParam(), kLayout);
  ErrorFeedback feedback(*one, 9000);
  const std::vector<float> values = gaussian(9000, 3);
  std::vector<std::byte> code(one->code_bytes());
  feedback.encode(values, 1, code);
  feedback.restore(code, 1);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(feedback.residual()[i], values[i], 1e-5F) << i;
}

// A part of a model may have no elements.
TEST_P(OfKind, AVectorMayBeEmpty) {
  for (const Layout& layout : {Layout(), plain_layout(0)}) {
    const auto one = compressor(GetParam(), layout);
    EXPECT_EQ(there_and_back(*one, {}), std::vector<float>());
  }
}

TEST(Registry, SizesAreAsDescribed) {
  const auto bytes = [](const std::string& text) { return compressor(text, kLayout)->code_bytes(); };
  EXPECT_EQ(bytes("fp16"), 18000U);
  EXPECT_EQ(bytes("int8"), 9000U + 36 * 4);
  EXPECT_EQ(bytes("int4"), 4500U + 141 * 4);
  EXPECT_EQ(bytes("topk:0.01"), (60U + 1 + 30) * 8);
  EXPECT_EQ(bytes("topk:0.01+fp16"), (60U + 1 + 30) * 6);
  EXPECT_EQ(bytes("randk:0.01"), 90U * 4);
  EXPECT_EQ(bytes("powersgd:2"), (2 * (60U + 100) + 60 + 2 * (30 + 98)) * 4);
}

TEST(Registry, RefusesWithTheAllowed) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      parse_rule(text, "--compress");
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_FALSE(parse_rule("none", "--compress"));
  EXPECT_NE(refusal("tpok").find("did you mean 'topk'?; allowed: none, fp16, bf16, int8"), std::string::npos)
      << refusal("tpok");
  for (const char* const text :
       {"", "fp16:3", "topk:0", "topk:1.5", "topk:0.1:2", "int8:3", "int8:x", "int4:0", "powersgd:0",
        "powersgd:a", "fp16+int8", "topk+topk", "topk+powersgd", "topk+", "randk:-1"}) {
    EXPECT_EQ(refusal(text).find("--compress '"), 0U) << text << ": " << refusal(text);
  }
}

}  // namespace
}  // namespace starling::compression
