#include "starling/compression/half_floats.h"

#include <array>

#include "starling/core/combine.h"

namespace starling::compression {

void HalfFloats::encode(std::span<const float> values, std::uint64_t /*number*/, std::span<std::byte> code) {
  convert(DType::kFloat32, reinterpret_cast<const std::byte*>(values.data()), type_, code.data(), count_);
}

void HalfFloats::decode(std::span<const std::byte> code, std::uint64_t /*number*/,
                        std::span<float> values) const {
  convert(type_, code.data(), DType::kFloat32, reinterpret_cast<std::byte*>(values.data()), count_);
}

// In blocks that stay in the cache.
void HalfFloats::add(std::span<const std::byte> code, std::uint64_t number, float factor,
                     std::span<float> values) const {
  std::array<float, 2048> block{};
  for (std::size_t begin = 0; begin < count_; begin += block.size()) {
    const std::size_t some = std::min(block.size(), count_ - begin);
    HalfFloats(type_, some).decode(code.subspan(2 * begin, 2 * some), number, std::span(block).first(some));
    for (std::size_t i = 0; i < some; ++i) values[begin + i] += factor * block[i];
  }
}

}  // namespace starling::compression
