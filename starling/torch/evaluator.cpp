#include "starling/torch/evaluator.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "starling/core/error.h"
#include "starling/torch/replica.h"
#include "starling/torch/stored_model.h"

namespace starling::torch {

using ::torch::Tensor;

namespace {

constexpr std::size_t kBatch = 250;

}  // namespace

Evaluator::Evaluator(const std::string& model, const data::DataSet& set)
    : model_(make_model(model, shape_of(set), "--model")), batches_(set, TensorBatches::Side::kTest) {
  model_->eval();
}

void Evaluator::load(std::span<const float> values) {
  const Replica replica(*model_);
  const ::torch::NoGradGuard no_grad;
  const auto take = [&](std::span<float> target) {
    if (target.size() > values.size()) throw Error("a snapshot is shorter than the model");
    std::copy_n(values.begin(), target.size(), target.begin());
    values = values.subspan(target.size());
  };
  const auto parameters = model_->named_parameters();
  for (const strategy::Section& section : replica.sections()) {
    take({parameters[section.name].data_ptr<float>(), section.count});
  }
  for (const std::span<float> extra : replica.extras()) take(extra);
}

Score Evaluator::score(std::size_t most) {
  const ::torch::NoGradGuard no_grad;
  std::vector<std::uint32_t> all(std::min(most, batches_.size()));
  std::iota(all.begin(), all.end(), 0U);
  double loss = 0;
  std::int64_t right = 0, asked = 0;
  for (std::size_t begin = 0; begin < all.size(); begin += kBatch) {
    const std::size_t count = std::min(kBatch, all.size() - begin);
    const Sample sample = batches_.take(std::span(all).subspan(begin, count));
    const Tensor logits = model_->forward(sample.input);
    loss += ::torch::nn::functional::cross_entropy(
                logits, sample.target,
                ::torch::nn::functional::CrossEntropyFuncOptions().reduction(::torch::kSum))
                .item<double>();
    right += logits.argmax(1).eq(sample.target).sum().item<std::int64_t>();
    asked += sample.target.numel();
  }
  const auto whole = static_cast<double>(std::max<std::int64_t>(asked, 1));
  return {loss / whole, static_cast<double>(right) / whole};
}

data::TensorFile Evaluator::state() const { return to_tensor_file(named_tensors(*model_)); }

}  // namespace starling::torch
