#include "starling/core/cpu.h"

#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "starling/core/error.h"
#include "starling/core/text.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace starling {
namespace {

CpuFeatures detect_launcher() {
  CpuFeatures features;
#if defined(__x86_64__)
  features.avx2 = __builtin_cpu_supports("avx2") != 0;
  // Clang 14's builtin does not know f16c. Its registers are AVX's, so avx2 answers for the system.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool known = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0;
  features.f16c = features.avx2 && known && (ecx & bit_F16C) != 0;
#endif
  return features;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect_launcher();
  return features;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || trim(line.substr(0, colon)) != "model name") continue;
    return std::string(trim(std::string_view(line).substr(colon + 1)));
  }
  return "unknown";
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

SimdMode parse_simd_mode(std::string_view text) {
  if (text == "auto") return SimdMode::kAuto;
  if (text == "baseline") return SimdMode::kBaseline;
  if (text == "avx2") return SimdMode::kAvx2;
  throw InvalidArgument(concat("STARLING_SIMD: '", text, "' is not one of auto, baseline, avx2"));
}

SimdMode simd_mode() {
  const char* const text = std::getenv("STARLING_SIMD");
  return text == nullptr || *text == '\0' ? SimdMode::kAuto : parse_simd_mode(text);
}

}  // namespace starling
