// Real models as sizes and work, derived by tools/make_replay_tables from their architectures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace starling::sim {

struct ReplayTensor {
  std::string_view name;
  std::uint32_t count;        // elements
  std::uint32_t rows;         // the first dimension of a tensor that has more than one, else 1
  std::uint64_t forward_ops;  // floating-point operations of the forward pass, per sample
};

struct ReplayModel {
  std::string_view name;
  std::size_t batch;                      // samples of a worker's step
  double ops_per_second;                  // of a worker of speed 1
  std::span<const ReplayTensor> tensors;  // in forward order
};

std::span<const ReplayModel> replay_models();

}  // namespace starling::sim
