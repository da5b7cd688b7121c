// The elements with the largest magnitudes, as they are: of each tensor so large a share, at least one
// (Aji and Heafield, "Sparse communication for distributed gradient descent", EMNLP'17; Lin et al., "Deep
// gradient compression", ICLR'18). With error feedback the others come later.
//
// The threshold is guessed from a sample, as those papers do, so that few elements are compared; among those
// above it the largest are chosen exactly. Of equal ones the first.
//
// The code is the places of the elements, 4 bytes each, then their values, or a code of these.
#pragma once

#include <memory>

#include "starling/compression/compressor.h"

namespace starling::compression {

// How many of so many elements are sent.
std::size_t share_of(std::size_t elements, double ratio);

// Appends the places of the `count` largest magnitudes of a part of the vector, in rising order.
void find_largest(std::span<const float> values, const Slice& part, std::size_t count,
                  std::vector<std::uint32_t>& places);

class TopK final : public Compressor {
 public:
  // `inner` is for vectors of as many elements as are sent; null: they are sent as they are.
  TopK(const Layout& layout, double ratio, std::unique_ptr<Compressor> inner);

  static std::size_t sent(const Layout& layout, double ratio);

  std::size_t code_bytes() const override;
  void encode(std::span<const float> values, std::uint64_t number, std::span<std::byte> code) override;
  void add(std::span<const std::byte> code, std::uint64_t number, float factor,
           std::span<float> values) const override;

 private:
  std::size_t places_bytes() const { return sent_ * sizeof(std::uint32_t); }

  Layout layout_;
  double ratio_;
  std::size_t sent_;
  std::unique_ptr<Compressor> inner_;
};

}  // namespace starling::compression
