#include "starling/core/combine.h"

#include <cstring>
#include <string_view>

#include "starling/core/combine_kernels.h"
#include "starling/core/cpu.h"
#include "starling/core/error.h"
#include "starling/core/shared_update_kernels.h"

namespace starling {
namespace detail {

extern const Kernels* const kCompiledAvx2Kernels;  // combine_avx2.cpp

namespace {

constexpr Kernels kBaseline = {"baseline",          &combine_vectors,     &convert_vector,
                               &all_finite_floats,  &elastic_step_floats, &elastic_difference_floats,
                               &merge_change_floats};

const Kernels& choose_kernels() {
  const SimdMode mode = simd_mode();
  const Kernels* const avx2 = avx2_kernels();
  if (mode == SimdMode::kAvx2 && avx2 == nullptr) {
    throw InvalidArgument("STARLING_SIMD: 'avx2' is not available in this build or on this machine");
  }
  return mode == SimdMode::kBaseline || avx2 == nullptr ? kBaseline : *avx2;
}

}  // namespace

const Kernels& baseline_kernels() { return kBaseline; }

const Kernels* avx2_kernels() {
  return cpu_features().avx2 && cpu_features().f16c ? kCompiledAvx2Kernels : nullptr;
}

const Kernels& active_kernels() {
  static const Kernels& chosen = choose_kernels();
  return chosen;
}

}  // namespace detail

namespace {

void require_floating(DType type, std::string_view what) {
  if (is_floating(type)) return;
  throw InvalidArgument(concat(what, " needs a floating type, not ", name_of(type)));
}

void check(DType type, const Combine& how, std::size_t sources) {
  if (sources == 0) throw InvalidArgument("combine: no sources");
  if (how.weights.empty() && how.divisor == 1) return;
  require_floating(type, "combine: a weight or divisor");
  if (how.op != ReduceOp::kSum) throw InvalidArgument("combine: only sums take weights and a divisor");
  if (!how.weights.empty() && how.weights.size() != sources) {
    throw InvalidArgument(concat("combine: ", how.weights.size(), " weights for ", sources, " sources"));
  }
}

bool is_narrowed(DType type) { return size_of(type) == 2; }

}  // namespace

void combine(DType type, const Combine& how, std::byte* out, std::span<const std::byte* const> sources,
             std::size_t count) {
  check(type, how, sources.size());
  if (count == 0) return;
  const double* const weights = how.weights.empty() ? nullptr : how.weights.data();
  detail::active_kernels().combine(
      {type, how.op, weights, how.divisor, out, sources.data(), sources.size(), count});
}

void accumulate(DType type, ReduceOp op, std::byte* into, const std::byte* from, std::size_t count) {
  const std::byte* const sources[] = {into, from};
  combine(type, {.op = op}, into, sources, count);
}

void scale(DType type, double factor, std::byte* data, std::size_t count) {
  require_floating(type, "scale");
  const std::byte* const sources[] = {data};
  combine(type, {.weights = {&factor, 1}}, data, sources, count);
}

void divide(DType type, double divisor, std::byte* data, std::size_t count) {
  require_floating(type, "divide");
  const std::byte* const sources[] = {data};
  combine(type, {.divisor = divisor}, data, sources, count);
}

void convert(DType from, const std::byte* source, DType to, std::byte* target, std::size_t count) {
  const bool same = from == to;
  const bool narrows = from == DType::kFloat32 && is_narrowed(to);
  const bool widens = is_narrowed(from) && to == DType::kFloat32;
  if (!same && !narrows && !widens) {
    throw InvalidArgument(concat("convert: no conversion from ", name_of(from), " to ", name_of(to)));
  }
  if (count == 0) return;
  if (same) {
    std::memmove(target, source, count * size_of(from));
  } else {
    detail::active_kernels().convert(from, source, to, target, count);
  }
}

bool all_finite(std::span<const float> values) {
  return detail::active_kernels().all_finite(reinterpret_cast<const std::byte*>(values.data()),
                                             values.size());
}

}  // namespace starling
