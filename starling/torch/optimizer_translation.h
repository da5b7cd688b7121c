// LibTorch's optimisers as those of the engine, for strategies that update elsewhere than on the worker.
#pragma once

#include <torch/torch.h>

#include "starling/optim/optimizer.h"

namespace starling::torch {

// Learning rate and all. InvalidArgument naming the optimiser, or the option of it, for what has no flat
// form: others than SGD, Adam and AdamW, amsgrad, parameter groups that differ.
optim::OptimizerSpec to_flat_optimizer(const ::torch::optim::Optimizer& optimizer);

// The rate of its first parameter group.
double learning_rate(const ::torch::optim::Optimizer& optimizer);

}  // namespace starling::torch
