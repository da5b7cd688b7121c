#include "starling/session/worker/real_worker.h"

#include <algorithm>
#include <utility>

#include "starling/core/error.h"
#include "starling/runtime/when.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::session {

using record::Detail;
using runtime::Task;
using strategy::floats;
using strategy::StepListener;
using strategy::StepPlan;

namespace {

Task<> wait_for(runtime::Event& event) { co_await event; }

// The listener of a step can be asked to settle the model as long as the step goes on.
class Listening {
 public:
  Listening(StepListener*& info, StepListener* listener) : info_(info) { info_ = listener; }
  ~Listening() { info_ = nullptr; }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  StepListener*& info_;
};

}  // namespace

Task<> for_ever(Task<> task) {
  runtime::Event never("the end of a service", runtime::Event::Kind::kRare);
  co_await task;
  co_await never;
}

RealWorker::RealWorker(const Parts& parts, Options options)
    : WithRunInfo(parts.info, parts.net, parts.random),
      options_(std::move(options)),
      requests_(parts.requests),
      hooks_(parts.hooks),
      checkpoint_state_(parts.checkpoint_state),
      parameters_(allocate(parts.info.elements)),
      gradients_(allocate(parts.info.elements)),
      states_(std::make_unique<std::atomic<SectionState>[]>(options_.sections.size())),
      asks_(options_.sections.size()),
      check_(*this, parts.info.nonfinite),
      stop_(parts.stop),
      step_(parts.first_step),
      learning_rate_(parts.info.optimizer.learning_rate) {}

void RealWorker::set_all_states(SectionState state) {
  for (std::size_t i = 0; i < sections().size(); ++i) set_state(i, state);
}

Task<bool> RealWorker::compute(const StepPlan& plan) {
  const bool more = co_await make_step(plan);
  for (StepHook* const hook : hooks_) {
    if (!more) hook->no_more_steps();
  }
  co_return more;
}

Task<bool> RealWorker::make_step(const StepPlan& plan) {
  const Listening listening(listener_, plan.listener);
  co_await parameters_free();
  for (StepHook* const hook : hooks_) {
    const bool go_on = co_await hook->before_step(step_ + 1);
    if (!go_on) co_return false;
  }
  if (step_ >= options_.steps || (over_ && !plan.outlasts_data)) co_return false;
  ++step_;
  samples_ = 0;
  pieces_ = 0;
  loss_ = 0;
  check_.step_begins();
  set_all_states(SectionState::kOutdated);
  if (plan.listener != nullptr) plan.listener->begins();
  StepListener* const by_section =
      plan.listener != nullptr && plan.listener->by_section() ? plan.listener : nullptr;
  StepListener* const during = plan.pieces == 1 ? by_section : nullptr;
  while (!over_ && !plan.ends_after(pieces_)) {
    if (by_section != nullptr) co_await let_through(*by_section, during == nullptr);
    const bool computed = co_await next_batch(during, plan);
    if (!computed) break;
    pieces_ += batch_->pieces;
  }
  if (pieces_ == 0) {
    if (over_ && !plan.outlasts_data) {
      --step_;  // there were no more data
      co_return false;
    }
    if (!gradients().ghost()) std::ranges::fill(floats(gradients()), 0.0F);
  }
  if (over_) stop_();
  for (std::size_t i = sections().size(); by_section != nullptr && i-- > 0;) pass_on(*by_section, i);
  if (by_section == nullptr) check_.look_at(gradients());
  finish_step();
  co_return true;
}

void RealWorker::finish_step() {
  loss_ = samples_ > 0 ? loss_ / static_cast<double>(samples_) : std::numeric_limits<double>::quiet_NaN();
  ++journal().steps;
  journal().samples += samples_;
  const std::string why = check_.step_ends(step_);
  if (!why.empty() && !failure_) {
    failure_ = std::make_exception_ptr(Error(why));
    journal().stopped = why;
    stop_();
  }
  if (!check_.skipped()) return;
  samples_ = 0;
  loss_ = std::numeric_limits<double>::quiet_NaN();
}

// The program cannot be interrupted: it computes a dropped piece to its end, and reads the parameters until
// then.
Task<> RealWorker::parameters_free() {
  if (!dropped_ || answered_) co_return;
  const strategy::Stopwatch watch(*this, record::Activity::kCompute);
  while (!answered_) {
    co_await heard_;
    heard_.reset();
  }
}

// False: there are no more data, or the piece was dropped.
Task<bool> RealWorker::next_batch(StepListener* listener, const StepPlan& plan) {
  runtime::Event* const drop = plan.drop;
  const bool again = std::exchange(dropped_, false);
  if (pieces_ > 0 || drop != nullptr) keep_mean();
  answered_ = false;
  batch_.reset();
  ready_.clear();
  computing_since_ = now();
  computing_ = {};
  forward_ = true;
  if (listener == nullptr) set_all_states(SectionState::kCurrent);
  wants_sections_.store(listener != nullptr, std::memory_order_relaxed);
  requests_.ask({.kind = UserRequest::Kind::kBatch,
                 .step = step_,
                 .again = again,
                 .portion = plan.portion,
                 .together = plan.next_pass(pieces_)});
  while (!answered_ && !dropped_) {
    if (drop != nullptr) {
      co_await runtime::when_any(wait_for(heard_), wait_for(*drop));
      dropped_ = !answered_ && drop->is_set();
    } else {
      co_await heard_;
    }
    heard_.reset();
    if (listener != nullptr) co_await hear(*listener);
  }
  note_computing(Detail::Kind::kNone, {}, listener);
  expected_.reset();
  expected_rate_.reset();
  if (dropped_ || !batch_) co_return false;
  add_batch();
  co_return true;
}

// The program is about to write its gradients.
void RealWorker::keep_mean() {
  if (mean_.data.count == 0) mean_ = allocate(gradients_.data.count);
  if (pieces_ > 0) return strategy::copy(gradients_.data, mean_.data);
  std::ranges::fill(floats(mean_.data), 0.0F);
}

// The user's thread waits for sections, or has reported gradients, or has computed the batch.
Task<> RealWorker::hear(StepListener& listener) {
  if (wanted_) {
    note_computing(Detail::Kind::kForward, computing_, &listener);
    computing_ = *wanted_;
    wanted_.reset();
    for (std::size_t i = computing_.begin; i < computing_.end; ++i) {
      if (state_of(i) == SectionState::kOutdated) co_await listener.before_forward(i);
      if (state_of(i) != SectionState::kPassedOn) set_state(i, SectionState::kCurrent);
    }
    computing_since_ = now();
    requests_.ask({.kind = UserRequest::Kind::kThrough});
  }
  if (ready_.empty() && !answered_) co_return;
  const bool weight_known = options_.equal_batches || expected_;
  if (std::exchange(forward_, false)) note_computing(Detail::Kind::kForward, computing_, &listener);
  co_await let_rest_through(listener);
  if (expected_rate_) learning_rate_ = *expected_rate_;
  for (const std::size_t section : std::exchange(ready_, {})) {
    note_computing(Detail::Kind::kBackward, {section, section + 1}, &listener);
    if (weight_known) pass_on(listener, section);
  }
}

Task<> RealWorker::let_through(StepListener& listener, bool all) {
  for (std::size_t i = 0; i < sections().size(); ++i) {
    if (state_of(i) != SectionState::kOutdated || (!all && asks_[i])) continue;
    co_await listener.before_forward(i);
    set_state(i, SectionState::kCurrent);
  }
}

// The program has no gradient for them: it did not use them. The memory is from the step before.
Task<> RealWorker::let_rest_through(StepListener& listener) {
  for (std::size_t i = 0; i < sections().size(); ++i) {
    if (state_of(i) != SectionState::kOutdated) continue;
    co_await listener.before_forward(i);
    set_state(i, SectionState::kUnused);
    const std::span<float> gradient =
        floats(gradients_.data).subspan(sections()[i].offset, sections()[i].count);
    std::fill(gradient.begin(), gradient.end(), 0.0F);
  }
}

// The user thread's activity since the last report, as far as it is known.
void RealWorker::note_computing(Detail::Kind kind, Slice sections, const StepListener* listener) {
  const Time begin = std::exchange(computing_since_, now());
  if (kind != Detail::Kind::kNone && !sections.empty()) {
    return spans_.note({kind, static_cast<std::uint32_t>(step_), static_cast<std::uint32_t>(sections.begin),
                        static_cast<std::uint32_t>(sections.end)},
                       *listener, begin);
  }
  spans_.close();
  journal().add({.activity = record::Activity::kCompute,
                 .begin = begin,
                 .end = computing_since_,
                 .detail = {.step = static_cast<std::uint32_t>(step_)}});
}

Task<> RealWorker::settle() {
  if (listener_ != nullptr) co_await listener_->settle();
  if (optimizer_) optimizer_steps_ = optimizer_->steps();
}

// The gradient becomes the mean over the samples so far. A piece without samples leaves it as it was: the
// program's memory is ignored.
void RealWorker::add_batch() {
  const std::span<float> gradient = floats(gradients_.data), mean = floats(mean_.data);
  const auto before = static_cast<double>(samples_), now = static_cast<double>(batch_->samples);
  learning_rate_ = batch_->learning_rate;
  if (batch_->samples > 0) loss_ += now * batch_->loss;
  if (samples_ > 0) {
    const auto share = static_cast<float>(now / (before + now));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = share == 0 ? mean[i] : mean[i] + share * (gradient[i] - mean[i]);
    }
  }
  samples_ += batch_->samples;
}

void RealWorker::pass_on(StepListener& listener, std::size_t section) {
  if (state_of(section) == SectionState::kPassedOn) return;
  set_state(section, SectionState::kPassedOn);
  const strategy::Section& place = sections()[section];
  check_.look_at(gradients_.data.part(place.offset, place.offset + place.count));
  listener.gradient_ready(section);
}

Task<> RealWorker::update(Slice part, std::uint64_t step) {
  co_await parameters_free();
  if (dropped_) strategy::copy(mean_.data, gradients_.data);
  const strategy::Stopwatch watch(*this, record::Activity::kUpdate);
  update_done_.reset();
  requests_.ask(
      {.kind = UserRequest::Kind::kUpdate, .part = part, .step = step, .learning_rate = learning_rate_});
  co_await update_done_;
}

void RealWorker::make_own_optimizer() {
  optimizer_ = make_optimizer(parameters_.data.count);
  const std::vector<std::span<float>> state = optimizer_->state();
  for (std::size_t i = 0; i < state.size(); ++i) {
    keep(concat("optimizer/", i), std::as_writable_bytes(state[i]));
  }
  keep("optimizer/steps", strategy::bytes_of(optimizer_steps_));
  optimizer_->set_steps(optimizer_steps_);
}

optim::Optimizer& RealWorker::flat_optimizer() {
  if (!optimizer_) make_own_optimizer();
  return *optimizer_;
}

void RealWorker::beside(Task<> task, std::string name) {
  company_->spawn(for_ever(std::move(task)), std::move(name));
}

std::vector<strategy::Data> RealWorker::optimizer_state() {
  if (options_.own_optimizer) {
    throw InvalidArgument(
        "the strategy averages the optimiser's state, which the program keeps to itself; allowed: a strategy "
        "that leaves it to each worker");
  }
  std::vector<strategy::Data> state;
  for (const std::span<float> vector : optimizer_->state()) state.emplace_back(vector);
  return state;
}

bool RealWorker::rests_next() const {
  return std::any_of(hooks_.begin(), hooks_.end(),
                     [&](const StepHook* hook) { return hook->rests_before(step_ + 1); });
}

void RealWorker::want(Slice sections) {
  wanted_ = sections;
  heard_.set();
}

void RealWorker::section_ready(std::size_t section) {
  ready_.push_back(section);
  heard_.set();
}

Task<> RealWorker::on_user_thread(std::function<void()> call, std::string what) {
  call_done_.rename(concat("the training program to ", what));
  call_done_.reset();
  requests_.ask({.kind = UserRequest::Kind::kCall, .call = std::move(call)});
  co_await call_done_;
}

void RealWorker::batch_computed(Batch batch, std::vector<bool> used) {
  batch_ = batch;
  asks_ = std::move(used);
  asks_.resize(sections().size());
  answered_ = true;
  heard_.set();
}

void RealWorker::no_more_batches() {
  over_ = true;
  answered_ = true;
  heard_.set();
}

}  // namespace starling::session
