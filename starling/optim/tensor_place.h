// A tensor of a model in its flat vectors, for optimisers that treat each tensor by itself.
#pragma once

#include <vector>

#include "starling/core/partition.h"

namespace starling::optim {

struct TensorPlace {
  Slice elements;
  bool excluded = false;  // it has the plain learning rate and no weight decay
};

// In the order of their elements.
using Tensors = std::vector<TensorPlace>;

}  // namespace starling::optim
