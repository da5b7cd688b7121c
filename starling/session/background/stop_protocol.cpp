#include "starling/session/background/stop_protocol.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/session/background/coordinator.h"

namespace starling::session {

using runtime::Task;

StopProtocol::StopProtocol(transport::Transport& net, ControlChannel& control, const Options& setting)
    : net_(net),
      control_(control),
      setting_(setting),
      begun_(setting.begun),
      answers_(static_cast<std::size_t>(setting.workers)) {
  control_.on(ControlChannel::Kind::kEnding,
              [this](Rank from, const Bytes& bytes) { handle(from, stop_message_from(bytes, from)); });
  control_.on_loss([this] {
    pursue();
    settle();
  });
}

// The wait ends with a message of the coordinator, or of the next one if it is lost: all answer at once.
Task<bool> StopProtocol::before_step(std::uint64_t step) {
  if (step > setting_.steps) co_return false;
  look_at_time();
  if (asked_by_ && !last_) {
    told_.rename(concat("rank ", coordinator_of(net_), " to say which step is the last"));
    co_await told_;
  }
  if (last_ && step > *last_) co_return false;
  begun_ = step;
  co_return true;
}

void StopProtocol::wish() {
  wished_ = true;
  pursue();
}

void StopProtocol::finished(std::uint64_t steps) {
  begun_ = steps;
  done_ = true;
}

void StopProtocol::begin(Time origin) {
  started_ = true;
  if (setting_.until) due_ = origin + *setting_.until;
  pursue();
}

Task<> StopProtocol::watch() {
  if (!due_) co_return;
  co_await runtime::sleep_until(*due_);
  look_at_time();
}

void StopProtocol::look_at_time() {
  if (due_ && net_.scheduler().now() >= *due_) pursue();
}

// Brings what this rank knows to the coordinator, once to each; only that one looks at the time.
void StopProtocol::pursue() {
  if (!started_) return;
  const Rank to = coordinator_of(net_);
  const bool mine = to == net_.rank();
  const bool late = mine && due_ && net_.scheduler().now() >= *due_;
  if (!entreated_ && (last_ || !(wished_ || asked_by_ || late))) return;
  if (mine) return ask();
  if (wish_told_to_ == to) return;
  wish_told_to_ = to;
  tell(to, {.verb = Verb::kWish});
}

void StopProtocol::ask() {
  if (asking_) return;
  asking_ = true;
  asked_by_ = net_.rank();  // from now on, not when the message to itself is handled
  for (Rank rank = 0; rank < setting_.workers; ++rank) {
    if (!net_.lost(rank)) tell(rank, {.verb = Verb::kAsk});
  }
}

void StopProtocol::handle(Rank from, const Message& message) {
  switch (message.verb) {
    case Verb::kWish:
      entreated_ = true;
      return pursue();
    case Verb::kAsk:
      if (asked_by_ && from < *asked_by_) return;
      asked_by_ = from;
      return tell(from, {Verb::kAnswer, done_, last_.has_value(), begun_, last_.value_or(0)});
    case Verb::kAnswer:
      answers_.at(static_cast<std::size_t>(from)) = message;
      return settle();
    case Verb::kLast:
      if (last_ || from != asked_by_) return;
      last_ = message.last;
      return told_.set();
  }
}

// The coordinator informs all as soon as all living workers have answered.
void StopProtocol::settle() {
  if (!asking_ || settled_) return;
  for (Rank rank = 0; rank < setting_.workers; ++rank) {
    if (!net_.lost(rank) && !answers_[static_cast<std::size_t>(rank)]) return;
  }
  settled_ = true;
  const std::uint64_t common = last_of_all();
  for (Rank rank = 0; rank < setting_.workers; ++rank) {
    if (net_.lost(rank)) continue;
    const std::uint64_t own = answers_[static_cast<std::size_t>(rank)]->steps;
    tell(rank, {.verb = Verb::kLast, .last = setting_.lockstep ? common : own});
  }
}

// In lockstep. A last step that was announced before stays; no worker can go beyond one whose strategy is
// over.
std::uint64_t StopProtocol::last_of_all() const {
  std::uint64_t most = 0, bound = std::numeric_limits<std::uint64_t>::max();
  for (Rank rank = 0; rank < setting_.workers; ++rank) {
    const auto& answer = answers_[static_cast<std::size_t>(rank)];
    if (net_.lost(rank)) continue;
    if (answer->told) return answer->last;
    most = std::max(most, answer->steps);
    if (answer->done) bound = std::min(bound, answer->steps);
  }
  return std::min(most, bound);
}

void StopProtocol::tell(Rank to, const Message& message) {
  control_.send(to, ControlChannel::Kind::kEnding, to_bytes(message));
}

}  // namespace starling::session
