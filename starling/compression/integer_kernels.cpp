#include "starling/compression/integer_kernels.h"

#include "starling/compression/integer_loops.h"
#include "starling/core/combine.h"
#include "starling/core/cpu.h"

namespace starling::compression::detail {

extern const IntegerKernels* const kCompiledAvx2IntegerKernels;  // integer_kernels_avx2.cpp

namespace {

constexpr IntegerKernels kBaseline = {"baseline",
                                      &largest_magnitude,
                                      &quantise_to_bytes,
                                      &quantise_to_nibbles,
                                      &expand_bytes<Assign>,
                                      &expand_nibbles<Assign>,
                                      &expand_bytes<Increase>,
                                      &expand_nibbles<Increase>};

}  // namespace

const IntegerKernels& baseline_integer_kernels() { return kBaseline; }

const IntegerKernels* avx2_integer_kernels() {
  return cpu_features().avx2 ? kCompiledAvx2IntegerKernels : nullptr;
}

// The same choice as that of the kernels of combine.h, which also refuses what is not there.
const IntegerKernels& active_integer_kernels() {
  static const bool wide = &starling::detail::active_kernels() == starling::detail::avx2_kernels();
  const IntegerKernels* const avx2 = avx2_integer_kernels();
  return wide && avx2 != nullptr ? *avx2 : kBaseline;
}

}  // namespace starling::compression::detail
