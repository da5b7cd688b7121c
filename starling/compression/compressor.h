// Lossy codes for vectors of floats, such as gradients and differences of models.
//
// A compressor is made for vectors of one layout. All its codes have the same size, so a receiver knows what
// it waits for, and the bytes of a run can be told beforehand. A code may depend on a number that sender and
// receiver both know, such as that of the message: it decides what a code draws at random.
//
// A code of zero bytes only is that of a vector of zeros. A value that is not finite makes the decoded vector
// not finite somewhere; it never disappears.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/core/partition.h"

namespace starling::compression {

// A tensor in the vector: so many rows, one after the other. A tensor of at most one dimension has one row.
struct TensorShape {
  Slice elements;
  std::size_t rows = 1;

  std::size_t columns() const { return rows == 0 ? 0 : elements.size() / rows; }
};

// The tensors of a vector, in the order of their elements, which they cover.
using Layout = std::vector<TensorShape>;

inline std::size_t elements_of(const Layout& layout) {
  return layout.empty() ? 0 : layout.back().elements.end;
}

// A vector of which nothing else is known.
inline Layout plain_layout(std::size_t count) { return {{{0, count}, 1}}; }

// Between numbers and the places of a code where they stand, which need not be aligned; there may be none.
template <class Number>
void write_numbers(std::span<const Number> numbers, std::span<std::byte> code) {
  std::ranges::copy(std::as_bytes(numbers), code.begin());
}
template <class Number>
std::vector<Number> read_numbers(std::span<const std::byte> code, std::size_t count) {
  std::vector<Number> numbers(count);
  std::ranges::copy(code.first(count * sizeof(Number)), std::as_writable_bytes(std::span(numbers)).begin());
  return numbers;
}

class Compressor {
 public:
  virtual ~Compressor() = default;

  virtual std::size_t code_bytes() const = 0;

  // It may remember what helps to encode the next vector. `code` has code_bytes().
  virtual void encode(std::span<const float> values, std::uint64_t number, std::span<std::byte> code) = 0;

  // values += factor * decoded vector
  virtual void add(std::span<const std::byte> code, std::uint64_t number, float factor,
                   std::span<float> values) const = 0;

  virtual void decode(std::span<const std::byte> code, std::uint64_t number, std::span<float> values) const {
    std::fill(values.begin(), values.end(), 0.0F);
    add(code, number, 1, values);
  }

  // What it remembers, for checkpoints.
  virtual std::span<float> state() { return {}; }
};

}  // namespace starling::compression
