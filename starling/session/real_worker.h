// A strategy's view of a real process: the user's thread computes and updates, the engine's thread runs the
// strategy. Everything here belongs to the engine's thread, except what says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "starling/runtime/event.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/runtime/scope.h"
#include "starling/session/batch_notes.h"
#include "starling/session/duty.h"
#include "starling/session/errands.h"
#include "starling/session/kept.h"
#include "starling/strategy/place.h"

namespace starling::session {

// A service has no end of its own; one that returns must not end the run.
runtime::Task<> for_ever(runtime::Task<> task);

class RealWorker final : public strategy::Placed<strategy::Worker> {
 public:
  struct Setting {
    std::vector<strategy::Section> sections;
    std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
    bool equal_batches = true;
  };

  // Between two steps they are called in this order; they must outlive the worker's last step.
  using Duties = std::vector<Duty*>;

  RealWorker(const strategy::Place& place, transport::Transport& net, Random random, const Setting& setting,
             Errands& errands);
  void set_duties(Duties duties) { duties_ = std::move(duties); }
  // Both before the first step: the steps made before this run, and where what keep() is given goes.
  void go_on_from(std::uint64_t step) { step_ = step; }
  void set_kept(Kept& kept) { kept_ = &kept; }
  // Where the tasks go that run beside the strategy; none of them ends unless it fails.
  void set_company(runtime::Scope& scope) { company_ = &scope; }
  // Touched by the user's thread in updates only, by the engine's between them.
  void set_optimizer(optim::Optimizer& optimizer) { optimizer_ = &optimizer; }

  void keep(std::string_view name, std::span<std::byte> state) override {
    if (kept_ != nullptr) kept_->keep(name, state);
  }

  strategy::Data parameters() override { return parameters_.data; }
  strategy::Data gradients() override { return gradients_.data; }
  const std::vector<strategy::Section>& sections() const override { return setting_.sections; }

  using Worker::compute;
  // A program cannot be held up between two sections yet, so a listener is asked before the batch whether all
  // of them may be used. It is told of sections during the batch if the program tells of them, if the batch
  // is not cut in pieces, whose gradients have to be combined first, and if the weight of the gradient is
  // known; of the others after the last piece.
  runtime::Task<bool> compute(const strategy::StepPlan& plan) override;
  runtime::Task<> update() override { return update(Slice{0, parameters_.data.count}); }
  runtime::Task<> update(Slice part) override;
  void beside(runtime::Task<> task, std::string name) override;
  // Of the session's own optimiser. InvalidArgument if the program brings one: its state is not ours.
  std::vector<strategy::Data> optimizer_state() override;
  // As the user's thread said with the last batch.
  double learning_rate() const override { return learning_rate_; }

  bool rests_next() const override;
  std::uint64_t step() const override { return step_; }
  std::size_t samples() const override { return samples_ + expected_.value_or(0); }
  int pieces() const override { return pieces_; }
  double loss() const override { return loss_; }
  bool equal_batches() const override { return setting_.equal_batches; }

  // For the user's thread while it computes a batch: whether it is of use to tell of sections.
  bool wants_sections() const { return wants_sections_.load(std::memory_order_relaxed); }

  // What the user's thread says, brought to this thread by LoopScheduler::post: of the batch it computes, and
  // the answers to the errands.
  void expect(std::size_t samples) { expected_ = samples; }
  void section_ready(std::size_t section);
  void batch_computed(Batch batch);
  void no_more_batches();
  void updated() { update_done_.set(); }
  void called() { call_done_.set(); }

  // Runs `call` on the user's thread, inside Session::next(). What it touches must live as long as the
  // session: the engine may fail meanwhile, and with it the caller's frame goes. What it throws, next()
  // throws.
  runtime::Task<> on_user_thread(std::function<void()> call, std::string what);

 private:
  // The listener, if any, is told of sections meanwhile.
  runtime::Task<bool> next_batch(strategy::StepListener* listener);
  void add_batch();
  void pass_on(strategy::StepListener& listener, std::size_t section);

  const Setting& setting_;
  Errands& errands_;
  Duties duties_;
  Kept* kept_ = nullptr;
  runtime::Scope* company_ = nullptr;
  optim::Optimizer* optimizer_ = nullptr;
  strategy::Buffer parameters_;
  strategy::Buffer gradients_;
  std::vector<float> mean_;  // of the gradients of the pieces before
  std::atomic<bool> wants_sections_ = false;
  std::vector<std::size_t> ready_;  // sections that the program told of and nobody has looked at yet
  std::vector<bool> passed_on_;     // by section: the listener knows
  // The program takes the time it needs.
  runtime::Event heard_{"a gradient from the training program", runtime::Event::Kind::kRare};
  runtime::Event update_done_{"the update by the training program", runtime::Event::Kind::kRare};
  runtime::Event call_done_{"the training program", runtime::Event::Kind::kRare};
  bool answered_ = false;       // the last errand for a batch
  std::optional<Batch> batch_;  // the answer; none: there are no more
  bool over_ = false;
  std::optional<std::size_t> expected_;  // samples of the batch that is being computed
  std::uint64_t step_ = 0;
  std::size_t samples_ = 0;
  int pieces_ = 0;
  double loss_ = 0;
  double learning_rate_ = 0;
};

}  // namespace starling::session
