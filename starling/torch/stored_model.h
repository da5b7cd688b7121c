// A model's tensors as a file of tensors keeps them.
#pragma once

#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

#include "starling/data/safetensors.h"

namespace starling::torch {

using NamedTensors = std::vector<std::pair<std::string, ::torch::Tensor>>;

// All parameters and buffers of a module under their names.
NamedTensors named_tensors(const ::torch::nn::Module& module);

data::TensorFile to_tensor_file(const NamedTensors& tensors);

}  // namespace starling::torch
