#include "starling/compression/powersgd.h"

#include <array>
#include <cmath>

#include "starling/core/random.h"

namespace starling::compression {

namespace {

// Sixteen partial sums, which the compiler can keep in vector registers.
float dot(const float* a, const float* b, std::size_t count) {
  std::array<float, 16> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= count; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  float all = 0;
  for (; i < count; ++i) all += a[i] * b[i];
  for (const float sum : sums) all += sum;
  return all;
}

double exact_dot(const float* a, const float* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

void add_multiple(float factor, const float* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

// Modified Gram-Schmidt. A column that depends on the others becomes 0.
void orthonormalise(float* columns, std::size_t count, std::size_t length) {
  constexpr double kDependent = 1e-6;
  for (std::size_t j = 0; j < count; ++j) {
    float* const column = columns + j * length;
    const double before = std::sqrt(exact_dot(column, column, length));
    for (std::size_t k = 0; k < j; ++k) {
      const float* const other = columns + k * length;
      add_multiple(-static_cast<float>(exact_dot(column, other, length)), other, column, length);
    }
    const double norm = std::sqrt(exact_dot(column, column, length));
    const bool keep = !(norm <= kDependent * before);  // NaN stays
    const auto scale = static_cast<float>(keep ? 1 / norm : 0);
    for (std::size_t i = 0; i < length; ++i) column[i] = keep ? column[i] * scale : 0;
  }
}

bool all_zero(const float* values, std::size_t count) {
  return std::all_of(values, values + count, [](float value) { return value == 0; });
}

}  // namespace

PowerSgd::PowerSgd(const Layout& layout, std::size_t rank, std::uint64_t seed) : seed_(seed) {
  std::size_t right = 0;
  for (const TensorShape& shape : layout) {
    const std::size_t rows = shape.rows, columns = shape.columns();
    const std::size_t most = std::min({rank, rows, columns});
    const bool pays = rows > 1 && 2 * most * (rows + columns) < shape.elements.size();
    parts_.push_back({shape, pays ? most : 0, left_count_, right});
    left_count_ += pays ? most * rows : shape.elements.size();
    right += pays ? most * columns : 0;
  }
  start_.resize(right);
}

// As in PyTorch's: the Q of the last vector, orthonormalised. Columns that have vanished are drawn anew.
void PowerSgd::prepare_start() {
  Random random = Random(seed_).fork(draws_);
  for (const Part& part : parts_) {
    const std::size_t columns = part.shape.columns();
    float* const q = start_.data() + part.right;
    orthonormalise(q, part.rank, columns);
    bool drawn = false;
    for (std::size_t j = 0; j < part.rank; ++j) {
      float* const column = q + j * columns;
      if (!all_zero(column, columns)) continue;
      for (std::size_t i = 0; i < columns; ++i) column[i] = static_cast<float>(random.normal());
      drawn = true;
    }
    if (drawn) orthonormalise(q, part.rank, columns);
  }
  ++draws_;
}

void PowerSgd::make_left(std::span<const float> values, std::span<float> left) {
  prepare_start();
  for (const Part& part : parts_) {
    const float* const matrix = values.data() + part.shape.elements.begin;
    float* const out = left.data() + part.left;
    const std::size_t rows = part.shape.rows, columns = part.shape.columns();
    if (part.rank == 0) std::copy_n(matrix, part.shape.elements.size(), out);
    for (std::size_t j = 0; j < part.rank; ++j) {
      const float* const q = start_.data() + part.right + j * columns;
      for (std::size_t row = 0; row < rows; ++row)
        out[j * rows + row] = dot(matrix + row * columns, q, columns);
    }
  }
}

void PowerSgd::orthonormalise_left(std::span<float> left) const {
  for (const Part& part : parts_) orthonormalise(left.data() + part.left, part.rank, part.shape.rows);
}

void PowerSgd::make_right(std::span<const float> values, std::span<const float> left,
                          std::span<float> right) const {
  std::fill(right.begin(), right.end(), 0.0F);
  for (const Part& part : parts_) {
    const float* const matrix = values.data() + part.shape.elements.begin;
    const std::size_t rows = part.shape.rows, columns = part.shape.columns();
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t j = 0; j < part.rank; ++j) {
        add_multiple(left[part.left + j * rows + row], matrix + row * columns,
                     right.data() + part.right + j * columns, columns);
      }
    }
  }
}

void PowerSgd::expand(std::span<const float> left, std::span<const float> right, float factor,
                      std::span<float> values) const {
  for (const Part& part : parts_) {
    float* const matrix = values.data() + part.shape.elements.begin;
    const std::size_t rows = part.shape.rows, columns = part.shape.columns();
    if (part.rank == 0) add_multiple(factor, left.data() + part.left, matrix, part.shape.elements.size());
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t j = 0; j < part.rank; ++j) {
        add_multiple(factor * left[part.left + j * rows + row], right.data() + part.right + j * columns,
                     matrix + row * columns, columns);
      }
    }
  }
}

void PowerSgd::clear_plain(std::span<float> values) const {
  for (const Part& part : parts_) {
    if (part.rank > 0) continue;
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(part.shape.elements.begin);
    std::fill_n(begin, part.shape.elements.size(), 0.0F);
  }
}

void PowerSgd::encode(std::span<const float> values, std::uint64_t /*number*/, std::span<std::byte> code) {
  std::vector<float> left(left_count()), right(right_count());
  make_left(values, left);
  orthonormalise_left(left);
  make_right(values, left, right);
  start_from(right);
  write_numbers<float>(left, code);
  write_numbers<float>(right, code.subspan(left.size() * sizeof(float)));
}

void PowerSgd::add(std::span<const std::byte> code, std::uint64_t /*number*/, float factor,
                   std::span<float> values) const {
  const std::vector<float> left = read_numbers<float>(code, left_count());
  const std::vector<float> right =
      read_numbers<float>(code.subspan(left.size() * sizeof(float)), right_count());
  expand(left, right, factor, values);
}

}  // namespace starling::compression
