// int8 and int4: blocks of elements share a scale, the largest magnitude of the block over Q; each element is
// a whole multiple of it from -Q to Q (Q = 127 or 7). Rounded to nearest, or at random so that the mean is
// right (QSGD: Alistarh et al., NIPS'17).
//
// The code is the scales, then the integers: one a byte, or two, of which the lower is of the first half of
// the block.
#pragma once

#include "starling/compression/compressor.h"

namespace starling::compression {

struct IntegerRule {
  int bits = 8;             // or 4
  std::size_t block = 256;  // even
  bool stochastic = false;
};

class ScaledIntegers final : public Compressor {
 public:
  // Two with different seeds draw independently.
  ScaledIntegers(const IntegerRule& rule, std::size_t count, std::uint64_t seed);

  std::size_t code_bytes() const override;
  void encode(std::span<const float> values, std::uint64_t number, std::span<std::byte> code) override;
  void add(std::span<const std::byte> code, std::uint64_t number, float factor,
           std::span<float> values) const override;
  void decode(std::span<const std::byte> code, std::uint64_t number, std::span<float> values) const override;

 private:
  std::size_t blocks() const { return (count_ + rule_.block - 1) / rule_.block; }
  // Bytes of the integers of a block of so many elements.
  std::size_t packed(std::size_t elements) const { return rule_.bits == 8 ? elements : (elements + 1) / 2; }
  template <class Work>
  void for_each_block(const Work& work) const;

  IntegerRule rule_;
  std::size_t count_;
  std::uint64_t seed_;
};

}  // namespace starling::compression
