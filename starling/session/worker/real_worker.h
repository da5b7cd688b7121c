// A strategy's view of a real process: the user's thread computes and updates, the engine's thread runs the
// strategy. Everything here belongs to the engine's thread, unless a comment says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "starling/runtime/event.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/runtime/scope.h"
#include "starling/session/batch_state.h"
#include "starling/session/worker/checkpoint_state.h"
#include "starling/session/worker/step_hook.h"
#include "starling/session/worker/user_requests.h"
#include "starling/strategy/compute_spans.h"
#include "starling/strategy/run_info.h"

namespace starling::session {

// A section of the model in a step, from the listener's point of view.
enum class SectionState : std::uint8_t {
  kOutdated,  // its update is under way: the program may not use it
  kCurrent,   // its parameters are those of the step, and its gradient is the program's
  kUnused,    // the same, but the backward pass began without the program's having asked for it
  kPassedOn,  // the listener has its gradient
};

// A service has no end of its own; one that returns must not end the run.
runtime::Task<> for_ever(runtime::Task<> task);

class RealWorker final : public strategy::WithRunInfo<strategy::Worker> {
 public:
  struct Options {
    std::vector<strategy::Section> sections;
    std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
    bool equal_batches = true;
    bool own_optimizer = false;  // the program brings one
    bool has_flat_optimizer = true;
    double clip_norm = 0;
  };

  // All of it but the random numbers must outlive the worker.
  struct Parts {
    const strategy::RunInfo& info;
    transport::Transport& net;
    Random random;
    UserRequests& requests;
    CheckpointState& checkpoint_state;  // where what keep() is given goes
    const StepHooks& hooks;             // complete before the first step
    std::uint64_t first_step = 0;       // steps made before this run
    std::function<void()> stop;         // asks for the end of the run
  };

  RealWorker(const Parts& parts, Options options);
  // The run begins. Tasks that run beside the strategy go to the scope; none of them ends unless it fails.
  void begin(runtime::Scope& scope) { company_ = &scope; }
  // Makes the flat optimiser, whose state is kept for checkpoints. The user's thread has it in updates, the
  // engine's at all other times.
  void make_own_optimizer();

  void keep(std::string_view name, std::span<std::byte> state) override {
    checkpoint_state_.keep(name, state);
  }

  strategy::Data parameters() override { return parameters_.data; }
  // Where the program puts its gradients.
  strategy::Data program_gradients() const { return gradients_.data; }
  // Of the pieces before a dropped one, which the program still computes.
  strategy::Data gradients() override { return dropped_ ? mean_.data : gradients_.data; }

  runtime::Task<> parameters_free() override;

  using Worker::compute;
  // The listener lets sections through when the program asks for them (Session::use), and before the batch
  // those that the program did not ask for in the step before: it may never do. The listener learns of
  // gradients during the batch if the program reports them, if the batch is not cut in pieces, whose
  // gradients have to be combined first, and if the weight of the gradient is known; of the others after the
  // last piece.
  runtime::Task<bool> compute(const strategy::StepPlan& plan) override;
  runtime::Task<> update() override { return update(Slice{0, parameters_.data.count}, step_); }
  runtime::Task<> update(Slice part, std::uint64_t step) override;
  optim::Optimizer& flat_optimizer() override;
  bool has_flat_optimizer() const override { return options_.has_flat_optimizer; }
  double clip_norm() const override { return options_.clip_norm; }
  // For step hooks, before they look at the model.
  runtime::Task<> settle();
  void beside(runtime::Task<> task, std::string name) override;
  // The state of the session's own optimiser. InvalidArgument if the program brings one: its state is not
  // ours.
  std::vector<strategy::Data> optimizer_state() override;
  // As reported by the user's thread with the last batch.
  double learning_rate() const override { return learning_rate_; }
  void set_learning_rate(double rate) override { learning_rate_ = rate; }

  bool rests_next() const override;
  std::uint64_t step() const override { return step_; }
  std::size_t samples() const override { return samples_ + expected_.value_or(0); }
  int pieces() const override { return pieces_; }
  double loss() const override { return loss_; }
  bool equal_batches() const override { return options_.equal_batches; }
  bool skips_steps() const override { return check_.rule() == strategy::NonFinite::kSkip; }
  bool skipped() const override { return check_.skipped(); }
  // Why this worker has asked for the end of the run; null if it has not.
  std::exception_ptr failure() const { return failure_; }

  // For the user's thread while it computes a batch: whether reports of sections are useful, and whether the
  // parameters of one are those of this step.
  bool wants_sections() const { return wants_sections_.load(std::memory_order_relaxed); }
  bool is_current(std::size_t section) const {
    const SectionState state = states_[section].load(std::memory_order_acquire);
    return state == SectionState::kCurrent || state == SectionState::kPassedOn;
  }

  // Reports of the user's thread, brought to this thread by LoopScheduler::post: about the batch it computes,
  // and the answers to requests.
  void expect(std::size_t samples) { expected_ = samples; }
  void expect_rate(double learning_rate) { expected_rate_ = learning_rate; }
  void want(Slice sections);
  void section_ready(std::size_t section);
  // `used`: by section, whether the program asked for it; empty: for none.
  void batch_computed(Batch batch, std::vector<bool> used);
  void no_more_batches();
  void updated() { update_done_.set(); }
  void called() { call_done_.set(); }

  // Runs `call` on the user's thread, inside Session::next(). What it touches must live as long as the
  // session: the engine may fail meanwhile, and with it the caller's frame goes. What it throws, next()
  // throws.
  runtime::Task<> on_user_thread(std::function<void()> call, std::string what);

 private:
  // The listener, if any, learns of sections meanwhile.
  runtime::Task<bool> make_step(const strategy::StepPlan& plan);
  runtime::Task<bool> next_batch(strategy::StepListener* listener, const strategy::StepPlan& plan);
  void keep_mean();
  runtime::Task<> hear(strategy::StepListener& listener);
  // Before the batch: all that the program will not ask for, or all.
  runtime::Task<> let_through(strategy::StepListener& listener, bool all);
  // The sections that the program was expected to ask for and did not use.
  runtime::Task<> let_rest_through(strategy::StepListener& listener);
  void add_batch();
  void pass_on(strategy::StepListener& listener, std::size_t section);
  void finish_step();
  void note_computing(record::Detail::Kind kind, Slice sections, const strategy::StepListener* listener);

  SectionState state_of(std::size_t section) const {
    return states_[section].load(std::memory_order_relaxed);
  }
  void set_state(std::size_t section, SectionState state) {
    states_[section].store(state, std::memory_order_release);
  }
  void set_all_states(SectionState state);

  const Options options_;
  UserRequests& requests_;
  const StepHooks& hooks_;
  CheckpointState& checkpoint_state_;
  runtime::Scope* company_ = nullptr;
  std::unique_ptr<optim::Optimizer> optimizer_;  // none yet if the program brings its own
  std::uint64_t optimizer_steps_ = 0;            // for checkpoints
  strategy::Buffer parameters_;
  strategy::Buffer gradients_;
  strategy::Buffer mean_;  // of the gradients of the pieces before, if there may be several
  bool dropped_ = false;   // the last piece
  std::atomic<bool> wants_sections_ = false;
  std::vector<std::size_t> ready_;  // sections that the program reported and that were not processed yet
  strategy::StepListener* listener_ = nullptr;           // of the step
  std::unique_ptr<std::atomic<SectionState>[]> states_;  // by section; the user's thread reads them
  std::vector<bool> asks_;       // by section: the program asked for it in the last batch
  std::optional<Slice> wanted_;  // the sections that the program waits for
  strategy::GradientCheck check_;
  std::function<void()> stop_;
  std::exception_ptr failure_;
  strategy::ComputeSpans spans_{*this};
  Time computing_since_{};
  Slice computing_;       // sections that the program has asked for last
  bool forward_ = false;  // no gradient of the batch is ready yet
  // The program takes the time it needs.
  runtime::Event heard_{"a gradient from the training program", runtime::Event::Kind::kRare};
  runtime::Event update_done_{"the update by the training program", runtime::Event::Kind::kRare};
  runtime::Event call_done_{"the training program", runtime::Event::Kind::kRare};
  bool answered_ = false;       // the last request for a batch
  std::optional<Batch> batch_;  // the answer; none: there are no more
  bool over_ = false;
  std::optional<std::size_t> expected_;  // samples of the batch that is being computed
  std::optional<double> expected_rate_;
  std::uint64_t step_;
  std::size_t samples_ = 0;
  int pieces_ = 0;
  double loss_ = 0;
  double learning_rate_;
};

}  // namespace starling::session
