// The kernels for AVX2. The build gives this file the compiler flags for them where it can; nothing here runs
// before the processor has been asked.
#include "starling/compression/integer_kernels.h"

#if defined(__AVX2__)
#include "starling/compression/integer_loops.h"
#endif

namespace starling::compression::detail {

#if defined(__AVX2__)
namespace {
constexpr IntegerKernels kTable = {"avx2",
                                   &largest_magnitude,
                                   &quantise_to_bytes,
                                   &quantise_to_nibbles,
                                   &expand_bytes<Assign>,
                                   &expand_nibbles<Assign>,
                                   &expand_bytes<Increase>,
                                   &expand_nibbles<Increase>};
}
extern const IntegerKernels* const kCompiledAvx2IntegerKernels;
constinit const IntegerKernels* const kCompiledAvx2IntegerKernels = &kTable;
#else
extern const IntegerKernels* const kCompiledAvx2IntegerKernels;
constinit const IntegerKernels* const kCompiledAvx2IntegerKernels = nullptr;
#endif

}  // namespace starling::compression::detail
