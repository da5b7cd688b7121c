// Speed of encoding and decoding beside a copy of the vector. Bytes are those of the vector as floats, read
// once and written once: by the copy, and by encoding and decoding together. The code between them is not
// counted.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "starling/compression/registry.h"
#include "starling/core/random.h"

namespace {

using namespace starling;
using namespace starling::compression;

constexpr std::size_t kRows = 2000, kColumns = 2000, kCount = kRows * kColumns;

std::vector<float> gaussian() {
  Random random(1);
  std::vector<float> values(kCount);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * kCount * sizeof(float)));
}

void copy(benchmark::State& state) {
  const std::vector<float> values = gaussian();
  std::vector<float> out(kCount);
  for (auto _ : state) {
    std::memcpy(out.data(), values.data(), kCount * sizeof(float));
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

void there_and_back(benchmark::State& state, const std::string& kind) {
  const auto compressor = make_compressor(*parse_rule(kind, "bench"), {{{0, kCount}, kRows}}, 1);
  const std::vector<float> values = gaussian();
  std::vector<float> out(kCount);
  std::vector<std::byte> code(compressor->code_bytes());
  std::uint64_t number = 0;
  for (auto _ : state) {
    compressor->encode(values, ++number, code);
    compressor->decode(code, number, out);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

// Registered before main, which benchmark_main provides.
const bool kRegistered = [] {
  benchmark::RegisterBenchmark("memcpy", copy);
  for (const std::string kind : {"fp16", "bf16", "int8", "int8:256:stochastic", "int4", "topk:0.01",
                                 "topk:0.01+int4", "randk:0.01", "powersgd:2"}) {
    benchmark::RegisterBenchmark(kind.c_str(),
                                 [kind](benchmark::State& state) { there_and_back(state, kind); });
  }
  return true;
}();

}  // namespace
