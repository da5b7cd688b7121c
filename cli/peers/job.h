// The task of a benchmark subject's rank, and the check of its result. For ranks written in C++; those in
// Python follow the same rules.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "starling/core/error.h"
#include "starling/core/partition.h"
#include "starling/core/text.h"
#include "starling/core/types.h"

namespace starling::cli {

enum class Op { kAllReduce, kBroadcast, kAllGather };

struct OpName {
  Op op;
  std::string_view name;
};
inline constexpr OpName kOps[] = {
    {Op::kAllReduce, "allreduce"}, {Op::kBroadcast, "broadcast"}, {Op::kAllGather, "allgather"}};

inline std::string_view name_of(Op op) {
  for (const OpName& known : kOps) {
    if (known.op == op) return known.name;
  }
  return "unknown";
}

inline Op parse_op(std::string_view text, std::string_view what) {
  for (const OpName& known : kOps) {
    if (known.name == text) return known.op;
  }
  throw InvalidArgument(concat(what, ": '", text, "' is not one of allreduce, broadcast, allgather"));
}

// One operation on a vector of float32. All work in place: the sum of all vectors, the vector of rank 0, or
// slice i of rank i.
struct Job {
  Op op = Op::kAllReduce;
  std::size_t bytes = 0;

  std::size_t count() const { return bytes / sizeof(float); }
  friend bool operator==(const Job&, const Job&) = default;
};

// A rank got a result that is not the right one.
struct WrongResult : Error {
  using Error::Error;
};

// Small whole numbers: their sums over up to 256 ranks are exact in any order.
inline float right_element(const Job& job, int ranks, std::size_t i) {
  const int sum_of_factors = ranks * (ranks + 1) / 2;  // rank r brings r + 1 times the value
  const auto value = static_cast<float>(i % 7 + 1);
  return job.op == Op::kAllReduce ? value * static_cast<float>(sum_of_factors) : value;
}

// The input of `rank` that leads to right_element everywhere.
inline void fill_input(const Job& job, Rank rank, int ranks, std::span<float> data) {
  const auto parts = static_cast<std::size_t>(ranks), index = static_cast<std::size_t>(rank);
  Slice given{0, rank == 0 ? data.size() : 0};
  if (job.op == Op::kAllGather) given = slice_of(data.size(), parts, index);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto value = static_cast<float>(i % 7 + 1);
    if (job.op == Op::kAllReduce) {
      data[i] = value * static_cast<float>(rank + 1);
    } else {
      data[i] = i >= given.begin && i < given.end ? value : -1;
    }
  }
}

inline void check_result(const Job& job, Rank rank, int ranks, std::span<const float> data) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    const float right = right_element(job, ranks, i);
    if (data[i] == right) continue;
    throw WrongResult(concat(name_of(job.op), " of ", job.bytes, " bytes over ", ranks, " ranks: element ", i,
                             " of rank ", rank, " is ", data[i], " instead of ", right));
  }
}

}  // namespace starling::cli
