// A random share of the elements, the same for everybody who draws with the same seed and number: no places
// are sent. Codes of different vectors with the same number can be added. The values are sent as they are, or
// as a code of these.
#pragma once

#include <memory>

#include "starling/compression/compressor.h"

namespace starling::compression {

class RandK final : public Compressor {
 public:
  RandK(std::size_t count, double ratio, std::uint64_t seed, std::unique_ptr<Compressor> inner);

  std::size_t code_bytes() const override;
  void encode(std::span<const float> values, std::uint64_t number, std::span<std::byte> code) override;
  void add(std::span<const std::byte> code, std::uint64_t number, float factor,
           std::span<float> values) const override;

 private:
  // One place in each of as many equal parts as are sent.
  std::vector<std::uint32_t> places(std::uint64_t number) const;

  std::size_t count_;
  std::size_t sent_;
  std::uint64_t seed_;
  std::unique_ptr<Compressor> inner_;
};

}  // namespace starling::compression
