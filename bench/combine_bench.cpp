// Speed of combine() next to memcpy. Bytes are counted as a program sees them: each source read once and the
// result written once, so for memory-bound sizes all rows should be near memcpy's.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "starling/core/combine.h"

namespace {

using starling::DType;
using starling::ReduceOp;
using starling::detail::CombineJob;
using starling::detail::Kernels;

using Bytes = std::vector<std::byte>;

void count_bytes(benchmark::State& state, std::size_t vectors, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(vectors * bytes));
}

void copy(benchmark::State& state, std::size_t bytes) {
  const Bytes source(bytes, std::byte{1});
  Bytes target(bytes, std::byte{2});
  for (auto _ : state) {
    std::memcpy(target.data(), source.data(), bytes);
    benchmark::ClobberMemory();
  }
  count_bytes(state, 2, bytes);
}

void combine(benchmark::State& state, const Kernels& kernels, DType type, std::size_t sources,
             std::size_t bytes, bool weighted) {
  const std::vector<Bytes> vectors(sources, Bytes(bytes, std::byte{1}));
  const std::vector<double> weights(sources, 0.5);
  std::vector<const std::byte*> pointers;
  pointers.reserve(sources);
  for (const Bytes& vector : vectors) pointers.push_back(vector.data());
  Bytes out(bytes, std::byte{2});
  const CombineJob job = {.type = type,
                          .op = ReduceOp::kSum,
                          .weights = weighted ? weights.data() : nullptr,
                          .divisor = 1,
                          .out = out.data(),
                          .sources = pointers.data(),
                          .source_count = sources,
                          .count = bytes / starling::size_of(type)};
  for (auto _ : state) {
    kernels.combine(job);
    benchmark::ClobberMemory();
  }
  count_bytes(state, sources + 1, bytes);
}

void register_kernels(const Kernels& kernels, std::size_t bytes, const std::string& size) {
  for (const DType type : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (const std::size_t sources : {2, 4, 8}) {
      for (const bool weighted : {false, true}) {
        const std::string name = std::string(weighted ? "weighted/" : "sum/") + kernels.name + "/" +
                                 std::string(starling::name_of(type)) + "/" + std::to_string(sources) + "/" +
                                 size;
        benchmark::RegisterBenchmark(name.c_str(), [=, &kernels](benchmark::State& state) {
          combine(state, kernels, type, sources, bytes, weighted);
        });
      }
    }
  }
}

// Registered before main, which benchmark_main provides.
const bool kRegistered = [] {
  for (const std::size_t bytes : {std::size_t{64} << 10, std::size_t{64} << 20}) {
    const std::string size = bytes < (1 << 20) ? "64KiB" : "64MiB";
    benchmark::RegisterBenchmark(("memcpy/" + size).c_str(),
                                 [bytes](benchmark::State& state) { copy(state, bytes); });
    register_kernels(starling::detail::baseline_kernels(), bytes, size);
    if (const Kernels* const avx2 = starling::detail::avx2_kernels()) register_kernels(*avx2, bytes, size);
  }
  return true;
}();

}  // namespace
