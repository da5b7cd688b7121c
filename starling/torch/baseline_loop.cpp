#include "starling/torch/baseline_loop.h"

#include <malloc.h>
#include <torch/torch.h>

#include <limits>
#include <span>

#include "starling/data/order.h"
#include "starling/torch/models.h"
#include "starling/torch/speed_emulator.h"
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

// The system clears a page before a process gets it. Gradients of megabytes that are freed and made anew in
// every step would make that a good part of the step. The workers of a run keep theirs.
void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

class BaselineLoop {
 public:
  BaselineLoop(const TrainOptions& setting, Rank worker, int workers)
      : setting_(setting),
        worker_(static_cast<std::uint64_t>(worker)),
        workers_(static_cast<std::uint64_t>(workers)),
        model_(make_model(setting.model, shape_of(*setting.data), "--model")),
        optimizer_(model_->parameters(), options_of(setting.optimizer)),
        feed_(*setting.data, TensorBatches::Side::kTrain),
        steps_(steps_per_epoch(feed_.size(), setting.batch, workers)),
        emulator_(setting.cluster, worker, setting.pace, Random(setting.seed)) {}

  void step() {
    emulator_.begin(now(), made_ + 1);
    const Sample sample = next();
    optimizer_.zero_grad();
    const ::torch::Tensor loss =
        ::torch::nn::functional::cross_entropy(model_->forward(sample.input), sample.target);
    loss.backward();
    emulator_.end(now());
    optimizer_.step();
    loss.item<double>();  // a run looks at it, too
  }

 private:
  Time now() const { return Time(steady_clock::now() - begun_); }

  Sample next() {
    const std::uint64_t epoch = made_ / steps_, step = made_ % steps_;
    if (step == 0) order_ = data::epoch_order(feed_.size(), setting_.seed, epoch);
    ++made_;
    return feed_.take(
        std::span(order_).subspan((step * workers_ + worker_) * setting_.batch, setting_.batch));
  }

  const TrainOptions& setting_;
  std::uint64_t worker_;
  std::uint64_t workers_;
  std::shared_ptr<Model> model_;
  ::torch::optim::SGD optimizer_;
  TensorBatches feed_;
  std::uint64_t steps_;  // of an epoch
  SpeedEmulator emulator_;
  steady_clock::time_point begun_ = steady_clock::now();
  std::uint64_t made_ = 0;
  std::vector<std::uint32_t> order_;
};

}  // namespace

std::vector<steady_clock::time_point> train_baseline(const TrainOptions& setting, Rank worker, int workers,
                                                     const std::function<bool(std::uint64_t)>& go_on) {
  keep_freed_memory();
  ::torch::set_num_threads(setting.threads);
  ::torch::manual_seed(setting.seed);
  BaselineLoop loop(setting, worker, workers);
  std::vector<steady_clock::time_point> ends;
  while (go_on(ends.size())) {
    loop.step();
    ends.push_back(steady_clock::now());
  }
  return ends;
}

}  // namespace starling::torch
