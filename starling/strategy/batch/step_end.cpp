#include "starling/strategy/batch/step_end.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "starling/core/byte_codec.h"
#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/strategy/batch/piece_size.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

struct StepEnd::State {
  State(Worker& worker, const Rules& given)
      : self(worker), rules(given), sender(worker.net()), size(given.pieces) {
    finished.resize(static_cast<std::size_t>(self.workers()));
  }

  bool is_over() const;
  bool others_have_ended(std::uint64_t number) const;
  double worth_of(int pieces) const;
  bool has_no_time() const;
  int next_pass();
  void look();
  void time_pieces();
  void learn();
  static Task<> listen(std::shared_ptr<State> state);
  static Task<> watch_time(std::shared_ptr<State> state);

  Worker& self;
  const Rules rules;
  coordination::AsyncSender sender;
  PieceSize size;
  std::vector<std::uint64_t> finished;  // by worker: the last step that it is known to have finished
  std::uint64_t step = 0;               // the last that this worker has begun
  bool computing = false;
  Time begun{};
  std::optional<double> ended_after;  // seconds: when the step was over for all
  double expected = 0;                // the same of the next step, by the last ones; 0: not known
  double stretch = 1;                 // of `expected`, since nobody is known to have finished the last step
  double usual_piece = 0;             // seconds, in the last step that somebody finished
  double last_piece = 0;              // seconds, the last one
  int timed = 0;                      // pieces of this step
  Time timed_until{};
  runtime::Event over{"the end of the step", runtime::Event::Kind::kRare};
  runtime::Event news{"the next step", runtime::Event::Kind::kRare};
};

// Workers that are lost finish nothing: a quorum is one of the living. If it needs all of them, nobody is cut
// off, for this worker is one.
bool StepEnd::State::is_over() const {
  if (rules.trigger.kind == Trigger::Kind::kAll) return false;
  if (rules.trigger.kind == Trigger::Kind::kDeadline) return self.now() >= begun + rules.trigger.deadline;
  return others_have_ended(step);
}

bool StepEnd::State::others_have_ended(std::uint64_t number) const {
  int living = 1, others_done = 0;
  for (Rank rank = 0; rank < self.workers(); ++rank) {
    if (rank == self.rank()) continue;
    if (finished[static_cast<std::size_t>(rank)] >= number) ++others_done;
    if (!self.lost(rank)) ++living;
  }
  return others_done >= std::min(rules.trigger.finishers, living);
}

// The word about the last step may come when this worker, which did not wait for it, is in the next.
void StepEnd::State::look() {
  if (stretch > 1 && others_have_ended(step - 1)) expected /= std::exchange(stretch, 1);
  if (step == 0 || ended_after || !is_over()) return;
  ended_after = seconds_of(self.now() - begun);
  if (computing) over.set();
}

// After a pass.
void StepEnd::State::time_pieces() {
  if (self.pieces() <= timed) return;
  last_piece = seconds_of(self.now() - timed_until) / (self.pieces() - timed);
  timed = self.pieces();
  timed_until = self.now();
}

// It rises at once and falls slowly, so that a lucky step does not cut off the next ones. A step that nobody
// has finished, because the fastest have left out their last piece, says that they have become slower: by as
// much as this worker has, and a little at least.
void StepEnd::State::learn() {
  constexpr double kWeightOfLast = 0.3, kLeastStretch = 1.15;
  stretch = 1;
  if (ended_after && timed > 0) usual_piece = seconds_of(timed_until - begun) / timed;
  if (rules.trigger.kind == Trigger::Kind::kDeadline) {
    expected = seconds_of(rules.trigger.deadline);
  } else if (ended_after) {
    expected = std::max(*ended_after, expected + kWeightOfLast * (*ended_after - expected));
  } else {
    stretch = std::max(kLeastStretch, usual_piece > 0 ? last_piece / usual_piece : 1);
    expected *= stretch;
  }
}

// The time that the others may wait for so many pieces.
double StepEnd::State::worth_of(int pieces) const {
  return expected * pieces / (rules.pieces * self.workers());
}

// The first piece is always begun: without it the worker would have no part in the step.
bool StepEnd::State::has_no_time() const {
  if (expected == 0 || rules.trigger.kind == Trigger::Kind::kAll) return false;
  const double piece = seconds_of(self.now() - begun) / self.pieces(), end = expected + worth_of(1);
  const bool sets_the_pace = piece * rules.pieces <= end;
  return !sets_the_pace && piece * (self.pieces() + 1) > end;
}

// If there is no time for more, one piece.
int StepEnd::State::next_pass() {
  const int wanted = size.next_pass(self.now(), self.pieces());
  if (rules.late != Late::kAvoid || expected == 0) return wanted;
  const int rest = rules.pieces - self.pieces();
  const double left = expected + worth_of(1) - seconds_of(self.now() - begun);
  const int fitting = size.fitting(left);
  return fitting >= rest ? wanted : std::min(wanted, fitting);
}

Task<> StepEnd::State::listen(std::shared_ptr<State> state) {
  try {
    for (;;) {
      const transport::Letter letter =
          co_await state->self.net().recv_any(tag_of(Channel::kFinished), transport::Idle::kYes);
      ByteReader in = ByteReader::message(letter.bytes, concat("the end of a step of rank ", letter.from));
      const auto step = in.get<std::uint64_t>();
      in.expect_end();
      std::uint64_t& known = state->finished.at(static_cast<std::size_t>(letter.from));
      known = std::max(known, step);
      state->look();
    }
  } catch (const PeerLost&) {  // NOLINT(bugprone-empty-catch): no other worker is left
  }
}

// A step may end, and the next begin, while this sleeps for the one before.
Task<> StepEnd::State::watch_time(std::shared_ptr<State> state) {
  for (;;) {
    while (!state->computing || state->over.is_set()) co_await state->news;
    co_await runtime::sleep_until(state->begun + state->rules.trigger.deadline);
    state->look();
  }
}

StepEnd::StepEnd(Worker& self, const Rules& rules, StepListener* also)
    : self_(self), also_(also), state_(std::make_shared<State>(self, rules)) {
  plan_.pieces = rules.pieces;
  plan_.listener = this;
  if (rules.several) plan_.together = [state = state_.get()] { return state->next_pass(); };
  if (self.workers() == 1) return;
  plan_.outlasts_data = true;
  const bool avoid = rules.late == Late::kAvoid, drop = rules.late == Late::kDrop;
  plan_.stop = [state = state_.get(), avoid] {
    state->time_pieces();
    return state->is_over() || (avoid && state->has_no_time());
  };
  if (drop) plan_.drop = &state_->over;
  if (rules.trigger.kind == Trigger::Kind::kFinishers) self.beside(State::listen(state_), "ends of steps");
  const bool timed = drop && rules.trigger.kind == Trigger::Kind::kDeadline;
  if (timed) self.beside(State::watch_time(state_), "deadlines");
}

StepEnd::~StepEnd() { state_->computing = false; }

void StepEnd::begins() {
  if (state_->step > 0) state_->learn();
  state_->step = self_.step();
  state_->computing = true;
  state_->begun = self_.now();
  state_->size.step_begins(state_->begun);
  state_->ended_after.reset();
  state_->timed = 0;
  state_->timed_until = state_->begun;
  state_->over.reset();
  state_->look();
  state_->news.pulse();
  if (also_ != nullptr) also_->begins();
}

Task<> StepEnd::settle() {
  if (also_ != nullptr) co_await also_->settle();
}

void StepEnd::computed() {
  state_->computing = false;
  state_->time_pieces();
  state_->size.step_ends(self_.now(), self_.pieces(), state_->is_over());
  const bool finished = self_.pieces() == plan_.pieces;
  if (!finished || state_->rules.trigger.kind != Trigger::Kind::kFinishers) return;
  if (state_->rules.trigger.finishers == 1 && !state_->ended_after) {
    state_->ended_after = seconds_of(self_.now() - state_->begun);
  }
  const Bytes message = ByteWriter::message().put(state_->step).take();
  const collective::SharedGroup everyone = self_.everyone();
  for (const Rank rank : everyone.ranks()) {
    if (rank != self_.rank()) state_->sender.send(rank, tag_of(Channel::kFinished), message);
  }
}

}  // namespace starling::strategy
