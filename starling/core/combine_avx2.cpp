// The kernels for AVX2 and F16C. The build gives this file the compiler flags for them where it can; without
// the flags there are no such kernels. Nothing here runs before the processor has been asked.
#include "starling/core/combine.h"

#if defined(__AVX2__) && defined(__F16C__)
#include "starling/core/combine_kernels.h"
#include "starling/core/shared_update_kernels.h"
#endif

namespace starling::detail {

#if defined(__AVX2__) && defined(__F16C__)
namespace {
constexpr Kernels kTable = {"avx2",
                            &combine_vectors,
                            &convert_vector,
                            &all_finite_floats,
                            &elastic_step_floats,
                            &elastic_difference_floats,
                            &merge_change_floats};
}
extern const Kernels* const kCompiledAvx2Kernels;
constinit const Kernels* const kCompiledAvx2Kernels = &kTable;
#else
extern const Kernels* const kCompiledAvx2Kernels;
constinit const Kernels* const kCompiledAvx2Kernels = nullptr;
#endif

}  // namespace starling::detail
