// Tells how good a flat model is on the test side of a data set.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "starling/data/dataset.h"
#include "starling/data/safetensors.h"
#include "starling/torch/tensor_batches.h"

namespace starling::torch {

struct Score {
  double loss = 0;
  double accuracy = 0;  // of text: of the next character
};

class Evaluator {
 public:
  // A model of its own, so it may work beside the training, on another thread. The set must outlive it.
  Evaluator(const std::string& model, const data::DataSet& set);

  // The parameters, then the buffers of floats, as a Replica of the model has them.
  void load(std::span<const float> values);
  // Evaluates the first `most` samples of the test side.
  Score score(std::size_t most);
  Score score() { return score(batches_.size()); }
  // All parameters and buffers under their names.
  data::TensorFile state() const;

 private:
  std::shared_ptr<Model> model_;
  TensorBatches batches_;
};

}  // namespace starling::torch
