#include "starling/compression/integer_kernels.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/compression/vectors.h"

namespace starling::compression::detail {
namespace {

// Every instruction set makes the same bits, whatever the number of elements.
TEST(IntegerKernels, AgreeBitForBit) {
  const IntegerKernels* const wide = avx2_integer_kernels();
  if (wide == nullptr) GTEST_SKIP() << "no AVX2 on this machine";
  const IntegerKernels& plain = baseline_integer_kernels();
  for (std::size_t count = 0; count <= 100; ++count) {
    const std::vector<float> values = testing::gaussian(count, count);
    EXPECT_EQ(plain.largest(values.data(), count), wide->largest(values.data(), count));
    for (const bool stochastic : {false, true}) {
      const BlockJob job{.values = values.data(),
                         .count = count,
                         .inverse = 1.5F,
                         .stochastic = stochastic,
                         .draw = static_cast<std::uint32_t>(count)};
      std::vector<std::uint8_t> bytes(count), wide_bytes(count), nibbles((count + 1) / 2),
          wide_nibbles = nibbles;
      plain.quantise8(job, bytes.data());
      wide->quantise8(job, wide_bytes.data());
      EXPECT_EQ(bytes, wide_bytes) << count;
      plain.quantise4(job, nibbles.data());
      wide->quantise4(job, wide_nibbles.data());
      EXPECT_EQ(nibbles, wide_nibbles) << count;
      std::vector<float> out(count), wide_out(count);
      plain.add8(bytes.data(), 0.3F, out.data(), count);
      wide->add8(bytes.data(), 0.3F, wide_out.data(), count);
      plain.add4(nibbles.data(), 0.7F, out.data(), count);
      wide->add4(nibbles.data(), 0.7F, wide_out.data(), count);
      EXPECT_EQ(out, wide_out) << count;
    }
  }
}

}  // namespace
}  // namespace starling::compression::detail
