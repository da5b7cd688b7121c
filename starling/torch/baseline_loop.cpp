#include "starling/torch/baseline_loop.h"

#include <torch/torch.h>

#include <chrono>
#include <span>

#include "starling/data/order.h"
#include "starling/torch/models.h"
#include "starling/torch/tensor_batches.h"

namespace starling::torch {
namespace {

using std::chrono::steady_clock;

::torch::optim::SGDOptions options_of(const optim::OptimizerSpec& spec) {
  if (spec.kind != optim::OptimizerSpec::Kind::kSgd)
    throw InvalidArgument("--optimizer: allowed with --plain: sgd");
  return ::torch::optim::SGDOptions(spec.learning_rate)
      .momentum(spec.momentum)
      .nesterov(spec.nesterov)
      .weight_decay(spec.weight_decay);
}

}  // namespace

BaselineResult train_baseline(const TrainOptions& setting, std::uint64_t warmup) {
  ::torch::set_num_threads(setting.threads);
  ::torch::manual_seed(setting.seed);
  const std::shared_ptr<Model> model = make_model(setting.model, shape_of(*setting.data), "--model");
  ::torch::optim::SGD optimizer(model->parameters(), options_of(setting.optimizer));
  const TensorBatches feed(*setting.data, TensorBatches::Side::kTrain);
  const std::uint64_t batches = steps_per_epoch(feed.size(), setting.batch, 1);
  std::vector<std::uint32_t> order;
  BaselineResult result;
  auto begin = steady_clock::now();
  for (std::uint64_t step = 0; step < *setting.steps; ++step) {
    if (step == warmup) begin = steady_clock::now();
    const std::uint64_t batch = step % batches;
    if (batch == 0) order = data::epoch_order(feed.size(), setting.seed, step / batches);
    const Sample sample = feed.take(std::span(order).subspan(batch * setting.batch, setting.batch));
    optimizer.zero_grad();
    const ::torch::Tensor loss =
        ::torch::nn::functional::cross_entropy(model->forward(sample.input), sample.target);
    loss.backward();
    optimizer.step();
    loss.item<double>();  // a run looks at it, too
    if (step >= warmup) result.samples += sample.samples;
  }
  result.seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
  return result;
}

}  // namespace starling::torch
