// The abilities of the processor that the vector kernels ask for.
#pragma once

#include <string>
#include <string_view>

namespace starling {

struct CpuFeatures {
  bool avx2 = false;
  bool f16c = false;
};

// The features of this machine, whatever STARLING_SIMD says. Both the processor and the operating system must
// support them.
const CpuFeatures& cpu_features();

// Such as "Intel(R) Xeon(R) Processor"; "unknown" where the system does not tell.
std::string cpu_name();

// Cores that this process may run on.
int usable_cores();

// Which kernels to use: the best ones, or those asked for.
enum class SimdMode { kAuto, kBaseline, kAvx2 };

// "auto", "baseline" or "avx2"; anything else is InvalidArgument.
SimdMode parse_simd_mode(std::string_view text);

// The environment variable STARLING_SIMD; kAuto if it is unset or empty.
SimdMode simd_mode();

}  // namespace starling
