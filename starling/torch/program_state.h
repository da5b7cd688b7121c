// The state of a LibTorch program besides its model, for checkpoints: its optimiser's and that of LibTorch's
// random numbers.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <span>
#include <vector>

namespace starling::torch {

// `optimizer` may be null: the engine's optimiser is not here.
std::vector<std::byte> save_program_state(const ::torch::optim::Optimizer* optimizer);
enum class RandomNumbers {
  kRestored,
  kStay,  // as they are: the state is that of another worker
};
// InvalidArgument if the bytes are none of save_program_state() with such an optimiser.
void load_program_state(std::span<const std::byte> bytes, ::torch::optim::Optimizer* optimizer,
                        RandomNumbers random_numbers);

}  // namespace starling::torch
