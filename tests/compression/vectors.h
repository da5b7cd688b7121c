// Vectors to compress, and how far a decoded vector is from what was meant.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "starling/compression/registry.h"
#include "starling/core/random.h"

namespace starling::compression::testing {

inline std::vector<float> gaussian(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

inline std::unique_ptr<Compressor> compressor(const std::string& text, const Layout& layout,
                                              std::uint64_t seed = 7) {
  return make_compressor(*parse_rule(text, "test"), layout, seed);
}

inline std::vector<std::byte> code_of(Compressor& compressor, std::span<const float> values,
                                      std::uint64_t number = 1) {
  std::vector<std::byte> code(compressor.code_bytes());
  compressor.encode(values, number, code);
  return code;
}

inline std::vector<float> decoded(const Compressor& compressor, std::span<const std::byte> code,
                                  std::size_t count, std::uint64_t number = 1) {
  std::vector<float> values(count, 99.0F);
  compressor.decode(code, number, values);
  return values;
}

inline std::vector<float> there_and_back(Compressor& compressor, std::span<const float> values,
                                         std::uint64_t number = 1) {
  return decoded(compressor, code_of(compressor, values, number), values.size(), number);
}

// |a - b|^2 / |a|^2
inline double relative_square(std::span<const float> a, std::span<const float> b) {
  double off = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    off += (x - y) * (x - y);
    all += x * x;
  }
  return off / all;
}

}  // namespace starling::compression::testing
