#include "starling/compression/scaled_integers.h"

#include <bit>
#include <cassert>
#include <cfloat>
#include <cstring>

#include "starling/compression/integer_kernels.h"
#include "starling/core/random.h"

namespace starling::compression {

namespace {

std::uint8_t* integers(std::byte* bytes) { return reinterpret_cast<std::uint8_t*>(bytes); }
const std::uint8_t* integers(const std::byte* bytes) { return reinterpret_cast<const std::uint8_t*>(bytes); }

float scale_at(std::span<const std::byte> code, std::size_t block) {
  float scale = 0;
  std::memcpy(&scale, code.data() + block * sizeof scale, sizeof scale);
  return scale;
}

}  // namespace

ScaledIntegers::ScaledIntegers(const IntegerRule& rule, std::size_t count, std::uint64_t seed)
    : rule_(rule), count_(count), seed_(seed) {
  assert(rule.block % 2 == 0);
}

std::size_t ScaledIntegers::code_bytes() const {
  const std::size_t whole = count_ / rule_.block;
  return blocks() * sizeof(float) + whole * packed(rule_.block) + packed(count_ % rule_.block);
}

// Calls work(block, its elements, where its integers begin).
template <class Work>
void ScaledIntegers::for_each_block(const Work& work) const {
  std::size_t at = blocks() * sizeof(float);
  for (std::size_t begin = 0, block = 0; begin < count_; begin += rule_.block, ++block) {
    const Slice elements{begin, std::min(count_, begin + rule_.block)};
    work(block, elements, at);
    at += packed(elements.size());
  }
}

// A block that is nearly 0 counts as 0: its scale would have no inverse.
void ScaledIntegers::encode(std::span<const float> values, std::uint64_t number, std::span<std::byte> code) {
  const detail::IntegerKernels& kernels = detail::active_integer_kernels();
  const float most = rule_.bits == 8 ? 127 : 7;
  const auto draws = static_cast<std::uint32_t>(Random(seed_).fork(number).next());
  for_each_block([&](std::size_t block, const Slice& elements, std::size_t at) {
    const float* const from = values.data() + elements.begin;
    float scale = std::bit_cast<float>(kernels.largest(from, elements.size())) / most;
    if (scale < FLT_MIN) scale = 0;
    std::memcpy(code.data() + block * sizeof scale, &scale, sizeof scale);
    const detail::BlockJob job{.values = from,
                               .count = elements.size(),
                               .inverse = scale == 0 ? 0 : 1 / scale,
                               .stochastic = rule_.stochastic,
                               .draw = draws + static_cast<std::uint32_t>(elements.begin)};
    rule_.bits == 8 ? kernels.quantise8(job, integers(code.data() + at))
                    : kernels.quantise4(job, integers(code.data() + at));
  });
}

void ScaledIntegers::add(std::span<const std::byte> code, std::uint64_t /*number*/, float factor,
                         std::span<float> values) const {
  const detail::IntegerKernels& kernels = detail::active_integer_kernels();
  const auto add = rule_.bits == 8 ? kernels.add8 : kernels.add4;
  for_each_block([&](std::size_t block, const Slice& elements, std::size_t at) {
    add(integers(code.data() + at), factor * scale_at(code, block), values.data() + elements.begin,
        elements.size());
  });
}

void ScaledIntegers::decode(std::span<const std::byte> code, std::uint64_t /*number*/,
                            std::span<float> values) const {
  const detail::IntegerKernels& kernels = detail::active_integer_kernels();
  const auto expand = rule_.bits == 8 ? kernels.expand8 : kernels.expand4;
  for_each_block([&](std::size_t block, const Slice& elements, std::size_t at) {
    expand(integers(code.data() + at), scale_at(code, block), values.data() + elements.begin,
           elements.size());
  });
}

}  // namespace starling::compression
