// A data set as batches of tensors.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/data/dataset.h"
#include "starling/torch/models.h"
#include "starling/torch/sample_count.h"

namespace starling::torch {

struct Sample {
  ::torch::Tensor input;
  ::torch::Tensor target;  // classes; of text, the next characters, [batch * length]
  std::size_t samples = 0;
};

InputShape shape_of(const data::DataSet& set);

// One side of a data set, the one for training or the one for testing. The set must outlive it.
class TensorBatches {
 public:
  enum class Side { kTrain, kTest };
  TensorBatches(const data::DataSet& set, Side side);

  std::size_t size() const { return size_; }
  Sample take(std::span<const std::uint32_t> indices) const;

 private:
  Sample pictures(std::span<const std::uint32_t> indices) const;
  Sample lines(std::span<const std::uint32_t> indices) const;

  const data::Images* images_ = nullptr;
  const std::vector<std::uint8_t>* text_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace starling::torch
