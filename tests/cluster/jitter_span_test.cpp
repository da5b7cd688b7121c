#include "starling/cluster/jitter_span.h"

#include <gtest/gtest.h>

#include <vector>

#include "starling/core/text.h"
#include "tests/support/refusal.h"

namespace starling::cluster {
namespace {

using testing::refusal;

constexpr Jitter kExponential{Jitter::Kind::kExponential, 0, 0};

// The factors of so many steps of three pieces each.
std::vector<double> factors(const char* span, std::uint64_t steps) {
  JitterFactors source(kExponential, parse_jitter_span(span, "x"), Random(5));
  std::vector<double> found;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    for (int piece = 0; piece < 3; ++piece) found.push_back(source.of_piece(step));
  }
  return found;
}

std::vector<double> draws(std::size_t count) {
  Random random(5);
  std::vector<double> found(count);
  for (double& factor : found) factor = draw(kExponential, random);
  return found;
}

TEST(JitterSpan, APieceHasAFactorOfItsOwn) { EXPECT_EQ(factors("piece", 4), draws(12)); }

TEST(JitterSpan, AStepHasOneFactor) {
  const std::vector<double> found = factors("step", 4), drawn = draws(4);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], drawn[i / 3]);
}

TEST(JitterSpan, AFactorLastsForSomeSteps) {
  const std::vector<double> found = factors("5", 12), drawn = draws(3);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], drawn[i / 15]);
}

// A run that continues from a checkpoint begins with a later step.
TEST(JitterSpan, TheFirstStepMayBeALaterOne) {
  JitterFactors source(kExponential, {10}, Random(5));
  const std::vector<double> drawn = draws(2);
  EXPECT_EQ(source.of_piece(98), drawn[0]);
  EXPECT_EQ(source.of_piece(100), drawn[0]);
  EXPECT_EQ(source.of_piece(101), drawn[1]);
}

TEST(JitterSpan, TextReadsBack) {
  for (const char* text : {"piece", "step", "2", "1000000000"}) {
    EXPECT_EQ(text_of(parse_jitter_span(text, "x")), text);
  }
  EXPECT_EQ(parse_jitter_span("1", "x"), JitterSpan{});
  EXPECT_EQ(text_of(JitterSpan{}), "step");
}

TEST(JitterSpan, RefusesWhatIsNone) {
  for (const char* text : {"", "0", "-1", "1.5", "steps", "1000000001", "10s"}) {
    EXPECT_EQ(
        refusal([&] { parse_jitter_span(text, "--jitter-span"); }),
        concat("--jitter-span: '", text, "'; allowed: piece, step, a number of steps from 1 to 1000000000"));
  }
}

}  // namespace
}  // namespace starling::cluster
