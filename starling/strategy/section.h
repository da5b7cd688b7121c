// The position of a tensor in the flat vectors of a model.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "starling/optim/optimizer.h"

namespace starling::strategy {

struct Section {
  std::string name;  // as in "layer1.0.conv1.weight"
  std::size_t offset = 0;
  std::size_t count = 0;
  bool vector = false;   // the tensor has at most one dimension, as biases and norms have
  std::size_t rows = 1;  // the size of its first dimension; 1 if it has at most one
};

// The sections as the optimiser sees them.
inline optim::Tensors tensors_of(const std::vector<Section>& sections, const optim::OptimizerSpec& spec) {
  optim::Tensors tensors;
  for (const Section& section : sections) {
    tensors.push_back(
        {{section.offset, section.offset + section.count}, spec.exclude_vectors && section.vector});
  }
  return tensors;
}

}  // namespace starling::strategy
