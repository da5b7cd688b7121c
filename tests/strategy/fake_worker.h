// A worker that a test controls completely: its sections, its gradients, and the time that it needs.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "starling/runtime/deadline.h"
#include "starling/strategy/run_info.h"
#include "tests/support/virtual_ranks.h"

namespace starling::testing {

// A run of so many workers, each on a host of its own, with a model of ones.
inline strategy::RunInfo place_of(int workers, const std::vector<strategy::Section>& sections) {
  strategy::RunInfo place;
  place.workers = workers;
  place.everyone = strategy::ranks_up_to(workers);
  place.host_of_rank = strategy::ranks_up_to(workers);
  place.starts.assign(static_cast<std::size_t>(workers), true);
  place.optimizer.learning_rate = 0.1;
  place.optimizer.momentum = 0.9;
  for (const strategy::Section& section : sections) {
    place.elements = std::max(place.elements, section.offset + section.count);
  }
  place.sections = sections;
  place.initial_model.assign(place.elements, 1.0F);
  return place;
}

class FakeWorker final : public strategy::WithRunInfo<strategy::Worker> {
 public:
  FakeWorker(const strategy::RunInfo& place, transport::Transport& net,
             std::vector<strategy::Section> sections = {}, std::uint64_t steps = 0)
      : WithRunInfo(place, net, Random(static_cast<std::uint64_t>(net.rank()) + 1)),
        sections_(std::move(sections)),
        steps_(steps),
        parameters_(initial_model()),
        gradients_(allocate(place.elements)),
        optimizer_(make_optimizer(place.elements)),
        company_(net.scheduler()) {}

  strategy::Data parameters() override { return parameters_.data; }
  strategy::Data gradients() override { return gradients_.data; }

  // A section takes up to 2 ms, forward and backward; its gradient depends on the model, the rank and the
  // step. The gaps between sections do not belong to the model and are never written.
  runtime::Task<bool> compute(const strategy::StepPlan& plan) override {
    if (step_ == steps_) co_return false;
    ++step_;
    if (plan.listener != nullptr) plan.listener->begins();
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (plan.listener != nullptr) co_await plan.listener->before_forward(i);
      co_await runtime::sleep_for(std::chrono::microseconds(random().between(0, 2000)));
    }
    for (std::size_t i = sections_.size(); i-- > 0;) {
      co_await runtime::sleep_for(std::chrono::microseconds(random().between(0, 2000)));
      fill_gradient(sections_[i]);
      if (plan.listener != nullptr) plan.listener->gradient_ready(i);
    }
    co_return true;
  }

  using Worker::compute;
  runtime::Task<> update() override {
    optimizer_->advance();
    for (const strategy::Section& section : sections_)
      apply({section.offset, section.offset + section.count});
    co_return;
  }
  runtime::Task<> update(Slice part, std::uint64_t step) override {
    if (std::exchange(updated_, step) != step) optimizer_->advance();
    apply(part);
    co_return;
  }
  optim::Optimizer& flat_optimizer() override { return *optimizer_; }
  bool has_flat_optimizer() const override { return true; }
  double clip_norm() const override { return 0; }
  void beside(runtime::Task<> task, std::string name) override {
    company_.spawn(std::move(task), std::move(name));
  }
  std::vector<strategy::Data> optimizer_state() override { return {}; }
  double learning_rate() const override { return optimizer_->learning_rate(); }
  void set_learning_rate(double rate) override { optimizer_->set_learning_rate(rate); }
  std::uint64_t step() const override { return step_; }
  std::size_t samples() const override { return 1; }
  int pieces() const override { return 1; }
  double loss() const override { return 0; }
  bool equal_batches() const override { return true; }

 private:
  void fill_gradient(const strategy::Section& section) {
    const std::span<float> x = strategy::floats(parameters_.data), g = strategy::floats(gradients_.data);
    for (std::size_t i = section.offset; i < section.offset + section.count; ++i) {
      g[i] = 0.3F * x[i] - static_cast<float>((i * 7 + static_cast<std::size_t>(rank()) * step_) % 11);
    }
  }
  void apply(Slice part) {
    optimizer_->apply(part, strategy::floats(parameters_.data), strategy::floats(gradients_.data));
  }

  std::vector<strategy::Section> sections_;
  std::uint64_t steps_;
  strategy::Buffer parameters_;
  strategy::Buffer gradients_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::uint64_t step_ = 0;
  std::uint64_t updated_ = 0;
  runtime::Scope company_;
};

}  // namespace starling::testing
