#include "starling/session/real_worker.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/strategy/exchange.h"

namespace starling::session {

using runtime::Task;
using strategy::floats;
using strategy::StepListener;
using strategy::StepPlan;

Task<> for_ever(Task<> task) {
  runtime::Event never("the end of a service", runtime::Event::Kind::kRare);
  co_await task;
  co_await never;
}

RealWorker::RealWorker(const strategy::Place& place, transport::Transport& net, Random random,
                       const Setting& setting, Errands& errands)
    : Placed(place, net, random),
      setting_(setting),
      errands_(errands),
      parameters_(allocate(place.elements)),
      gradients_(allocate(place.elements)) {}

Task<bool> RealWorker::compute(const StepPlan& plan) {
  for (Duty* const duty : duties_) {
    const bool go_on = co_await duty->before_step(step_ + 1);
    if (!go_on) co_return false;
  }
  if (step_ >= setting_.steps || over_) co_return false;
  ++step_;
  samples_ = 0;
  pieces_ = 0;
  loss_ = 0;
  passed_on_.assign(sections().size(), false);
  if (plan.listener != nullptr) plan.listener->begins();
  StepListener* const by_section =
      plan.listener != nullptr && plan.listener->by_section() ? plan.listener : nullptr;
  while (pieces_ < plan.pieces && !over_ && (pieces_ == 0 || !plan.stop || !plan.stop())) {
    for (std::size_t i = 0; by_section != nullptr && i < sections().size(); ++i) {
      co_await by_section->before_forward(i);
    }
    const bool computed = co_await next_batch(plan.pieces == 1 ? by_section : nullptr);
    if (!computed) break;
    ++pieces_;
  }
  if (pieces_ == 0) {
    --step_;  // there were no more data
    co_return false;
  }
  loss_ = samples_ > 0 ? loss_ / static_cast<double>(samples_) : std::numeric_limits<double>::quiet_NaN();
  ++journal().steps;
  journal().samples += samples_;
  for (std::size_t i = sections().size(); by_section != nullptr && i-- > 0;) pass_on(*by_section, i);
  co_return true;
}

Task<bool> RealWorker::next_batch(StepListener* listener) {
  if (samples_ > 0) mean_.assign(floats(gradients_.data).begin(), floats(gradients_.data).end());
  const strategy::Stopwatch watch(*this, record::Activity::kCompute);
  answered_ = false;
  batch_.reset();
  ready_.clear();
  wants_sections_.store(listener != nullptr, std::memory_order_relaxed);
  errands_.ask({.kind = Errand::Kind::kBatch, .step = step_});
  while (!answered_) {
    co_await heard_;
    heard_.reset();
    const bool weight_known = setting_.equal_batches || expected_;
    for (const std::size_t section : ready_) {
      if (listener != nullptr && weight_known) pass_on(*listener, section);
    }
    ready_.clear();
  }
  expected_.reset();
  if (!batch_) co_return false;
  add_batch();
  co_return true;
}

// The gradient becomes the mean over the samples so far. A piece without samples leaves it as it was: what
// the program has written is not looked at.
void RealWorker::add_batch() {
  const std::span<float> gradient = floats(gradients_.data);
  const auto before = static_cast<double>(samples_), now = static_cast<double>(batch_->samples);
  learning_rate_ = batch_->learning_rate;
  if (batch_->samples > 0) loss_ += now * batch_->loss;
  if (samples_ > 0) {
    const auto share = static_cast<float>(now / (before + now));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = share == 0 ? mean_[i] : mean_[i] + share * (gradient[i] - mean_[i]);
    }
  }
  samples_ += batch_->samples;
}

void RealWorker::pass_on(StepListener& listener, std::size_t section) {
  if (passed_on_[section]) return;
  passed_on_[section] = true;
  listener.gradient_ready(section);
}

Task<> RealWorker::update(Slice part) {
  const strategy::Stopwatch watch(*this, record::Activity::kUpdate);
  update_done_.reset();
  errands_.ask({.kind = Errand::Kind::kUpdate, .part = part, .step = step_});
  co_await update_done_;
}

void RealWorker::beside(Task<> task, std::string name) {
  company_->spawn(for_ever(std::move(task)), std::move(name));
}

std::vector<strategy::Data> RealWorker::optimizer_state() {
  if (optimizer_ == nullptr) {
    throw InvalidArgument(
        "the strategy averages the optimiser's state, which the program keeps to itself; allowed: a strategy "
        "that leaves it to each worker");
  }
  std::vector<strategy::Data> state;
  for (const std::span<float> vector : optimizer_->state()) state.emplace_back(vector);
  return state;
}

bool RealWorker::rests_next() const {
  return std::any_of(duties_.begin(), duties_.end(),
                     [&](const Duty* duty) { return duty->rests_before(step_ + 1); });
}

void RealWorker::section_ready(std::size_t section) {
  ready_.push_back(section);
  heard_.set();
}

Task<> RealWorker::on_user_thread(std::function<void()> call, std::string what) {
  call_done_.rename(concat("the training program to ", what));
  call_done_.reset();
  errands_.ask({.kind = Errand::Kind::kCall, .call = std::move(call)});
  co_await call_done_;
}

void RealWorker::batch_computed(Batch batch) {
  batch_ = batch;
  answered_ = true;
  heard_.set();
}

void RealWorker::no_more_batches() {
  over_ = true;
  answered_ = true;
  heard_.set();
}

}  // namespace starling::session
