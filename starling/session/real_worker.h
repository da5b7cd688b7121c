// A strategy's view of a real process: the user's thread computes and updates, the engine's thread runs the
// strategy. Everything here belongs to the engine's thread, except what says otherwise.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "starling/runtime/event.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/session/errands.h"
#include "starling/strategy/place.h"

namespace starling::session {

// What the user's thread says of a batch.
struct Batch {
  std::size_t samples = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();
};

class RealWorker final : public strategy::Placed<strategy::Worker> {
 public:
  struct Setting {
    std::vector<strategy::Section> sections;
    std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
    bool equal_batches = true;
  };

  RealWorker(const strategy::Place& place, transport::Transport& net, Random random, const Setting& setting,
             Errands& errands);

  strategy::Data parameters() override { return parameters_.data; }
  strategy::Data gradients() override { return gradients_.data; }
  const std::vector<strategy::Section>& sections() const override { return setting_.sections; }

  using Worker::compute;
  runtime::Task<bool> compute(const strategy::StepPlan& plan) override;
  runtime::Task<> update() override { return update(Slice{0, parameters_.data.count}); }
  runtime::Task<> update(Slice part) override;
  std::vector<strategy::Data> optimizer_state() override { return {}; }

  std::uint64_t step() const override { return step_; }
  std::size_t samples() const override { return samples_; }
  int pieces() const override { return pieces_; }
  double loss() const override { return loss_; }
  bool equal_batches() const override { return setting_.equal_batches; }

  // The answers to the errands, brought to this thread by LoopScheduler::post.
  void batch_computed(Batch batch);
  void no_more_batches();
  void updated() { update_done_.set(); }

 private:
  runtime::Task<bool> next_batch();

  const Setting& setting_;
  Errands& errands_;
  strategy::Buffer parameters_;
  strategy::Buffer gradients_;
  std::vector<float> sum_;  // of the gradients of a batch that is cut in pieces
  runtime::Event batch_done_{"a gradient from the training program"};
  runtime::Event update_done_{"the update by the training program"};
  std::optional<Batch> batch_;  // the answer to the last errand
  bool over_ = false;
  std::uint64_t step_ = 0;
  std::size_t samples_ = 0;
  int pieces_ = 0;
  double loss_ = 0;
};

}  // namespace starling::session
