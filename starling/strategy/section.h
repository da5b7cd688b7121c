// The position of a tensor in the flat vectors of a model.
#pragma once

#include <cstddef>
#include <string>

namespace starling::strategy {

struct Section {
  std::string name;  // as in "layer1.0.conv1.weight"
  std::size_t offset = 0;
  std::size_t count = 0;
};

}  // namespace starling::strategy
