// The loops of scaled_integers.h, compiled once per instruction set. For one block of elements.
#pragma once

#include <cstddef>
#include <cstdint>

namespace starling::compression::detail {

struct BlockJob {
  const float* values = nullptr;
  std::size_t count = 0;
  float inverse = 0;  // of the scale
  bool stochastic = false;
  std::uint32_t draw = 0;  // of the first element; the others follow it
};

struct IntegerKernels {
  const char* name;
  // The bits of the largest magnitude; of a NaN, if there is one.
  std::uint32_t (*largest)(const float* values, std::size_t count);
  void (*quantise8)(const BlockJob& job, std::uint8_t* out);
  void (*quantise4)(const BlockJob& job, std::uint8_t* out);
  // values = scale * integer; or values += it.
  void (*expand8)(const std::uint8_t* from, float scale, float* values, std::size_t count);
  void (*expand4)(const std::uint8_t* from, float scale, float* values, std::size_t count);
  void (*add8)(const std::uint8_t* from, float scale, float* values, std::size_t count);
  void (*add4)(const std::uint8_t* from, float scale, float* values, std::size_t count);
};

const IntegerKernels& baseline_integer_kernels();
// Null if this build or this machine has none.
const IntegerKernels* avx2_integer_kernels();
const IntegerKernels& active_integer_kernels();

}  // namespace starling::compression::detail
