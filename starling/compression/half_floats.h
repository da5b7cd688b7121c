// fp16 and bf16: each element in 16 bits, rounded to nearest. A half float (IEEE binary16) has 11 bits of
// precision and ends at 65,504, beyond which it is infinite; a bfloat has 8 bits and the range of a float.
#pragma once

#include "starling/compression/compressor.h"
#include "starling/core/dtype.h"

namespace starling::compression {

class HalfFloats final : public Compressor {
 public:
  // kFloat16 or kBFloat16.
  HalfFloats(DType type, std::size_t count) : type_(type), count_(count) {}

  std::size_t code_bytes() const override { return 2 * count_; }
  void encode(std::span<const float> values, std::uint64_t number, std::span<std::byte> code) override;
  void add(std::span<const std::byte> code, std::uint64_t number, float factor,
           std::span<float> values) const override;
  void decode(std::span<const std::byte> code, std::uint64_t number, std::span<float> values) const override;

 private:
  DType type_;
  std::size_t count_;
};

}  // namespace starling::compression
