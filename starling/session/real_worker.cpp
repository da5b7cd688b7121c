#include "starling/session/real_worker.h"

#include "starling/core/error.h"
#include "starling/strategy/exchange.h"

namespace starling::session {

using runtime::Task;
using strategy::floats;
using strategy::StepPlan;

RealWorker::RealWorker(const strategy::Place& place, transport::Transport& net, Random random,
                       const Setting& setting, Errands& errands)
    : Placed(place, net, random),
      setting_(setting),
      errands_(errands),
      parameters_(allocate(place.elements)),
      gradients_(allocate(place.elements)) {}

Task<bool> RealWorker::compute(const StepPlan& plan) {
  if (plan.listener != nullptr && plan.listener->by_section()) {
    throw Error("the training program does not tell yet when a section's gradient is ready");
  }
  if (step_ >= setting_.steps || over_) co_return false;
  ++step_;
  samples_ = 0;
  pieces_ = 0;
  loss_ = 0;
  if (plan.listener != nullptr) plan.listener->begins();
  while (pieces_ < plan.pieces && (pieces_ == 0 || !plan.stop || !plan.stop())) {
    const bool computed = co_await next_batch();
    if (!computed) break;
    ++pieces_;
  }
  if (pieces_ == 0) {
    --step_;  // there were no more data
    co_return false;
  }
  loss_ /= static_cast<double>(samples_);
  ++journal().steps;
  journal().samples += samples_;
  co_return true;
}

// The gradient becomes the mean over the samples so far.
Task<bool> RealWorker::next_batch() {
  const std::span<float> gradient = floats(gradients_.data);
  if (samples_ > 0) sum_.assign(gradient.begin(), gradient.end());
  const strategy::Stopwatch watch(*this, record::Activity::kCompute);
  batch_.reset();
  batch_done_.reset();
  errands_.ask({Errand::Kind::kBatch, {}, step_});
  co_await batch_done_;
  if (!batch_) co_return false;
  const auto before = static_cast<double>(samples_), now = static_cast<double>(batch_->samples);
  loss_ += now * batch_->loss;
  if (samples_ > 0) {
    const auto share = static_cast<float>(now / (before + now));
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = sum_[i] + share * (gradient[i] - sum_[i]);
  }
  samples_ += batch_->samples;
  co_return true;
}

Task<> RealWorker::update(Slice part) {
  const strategy::Stopwatch watch(*this, record::Activity::kUpdate);
  update_done_.reset();
  errands_.ask({Errand::Kind::kUpdate, part, step_});
  co_await update_done_;
}

void RealWorker::batch_computed(Batch batch) {
  batch_ = batch;
  batch_done_.set();
}

void RealWorker::no_more_batches() {
  over_ = true;
  batch_done_.set();
}

}  // namespace starling::session
