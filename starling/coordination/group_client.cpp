#include "starling/coordination/group_client.h"

#include <algorithm>
#include <utility>

namespace starling::coordination {

using runtime::Task;
using Verb = GroupMessage::Verb;

// After a failure the request remains valid: the census has informed the generator.
Task<std::optional<GroupTurn>> GroupClient::next() {
  if (std::exchange(through_, false)) co_return std::nullopt;
  leaves_ = false;
  if (!asks_) {
    if (!more_) ++count_;
    ask(Verb::kAsk);
  }
  co_return co_await take_answer();
}

Task<std::optional<GroupTurn>> GroupClient::next_before_leaving() {
  leaves_ = true;
  if (!asks_) ask(Verb::kLeave);
  co_return co_await take_answer();
}

void GroupClient::ask(Verb verb) {
  asks_ = true;
  GroupMessage note;
  note.verb = verb;
  note.count = count_;
  note.finished = finished_;
  const Duration computed = computing_ ? computing_() : Duration(0);
  note.section = computed - std::exchange(computed_, computed);
  tell(std::move(note));
}

Task<std::optional<GroupTurn>> GroupClient::take_answer() {
  while (!answer_ && !alone()) co_await news();
  more_ = false;
  if (!answer_) {
    asks_ = false;
    co_return std::nullopt;
  }
  const GroupMessage note = *std::exchange(answer_, std::nullopt);
  if (note.verb == Verb::kAlone) co_return std::nullopt;
  given_ = note;
  running_ = true;
  co_return GroupTurn{note.group.members, note.group.number, note.group.issue, note.weight};
}

void GroupClient::finished() {
  finished_ = given_->group.number;
  more_ = !given_->last;
  through_ = given_->last && !leaves_;
  if (given_->group.members.front() == rank()) {
    GroupMessage done;
    done.verb = Verb::kDone;
    done.group = given_->group;
    tell(std::move(done));
  }
  given_.reset();
  running_ = false;
  answer_census();
}

void GroupClient::failed() {
  running_ = false;
  asks_ = true;
  answer_census();
}

void GroupClient::handle(const GroupMessage& note) {
  if (note.verb == Verb::kCensus) return begin_census();
  if (note.verb == Verb::kCall) {
    called_ = std::max(called_, note.group.number);
    return;
  }
  asks_ = false;
  answer_ = note;
}

// An earlier answer that has not been used is void, and so are calls: the group may be forgotten.
void GroupClient::begin_census() {
  called_ = 0;
  if (answer_) {
    if (answer_->verb == Verb::kGroup) given_ = answer_;
    answer_.reset();
    asks_ = true;
  }
  census_ = true;
  answer_census();
}

// A group with a lost member ends soon, well or not; the answer has to say how, and waits for that.
void GroupClient::answer_census() {
  if (!census_ || (running_ && any_lost(given_->group.members))) return;
  census_ = false;
  GroupMessage state;
  state.verb = Verb::kState;
  state.count = count_;
  state.finished = finished_;
  state.asks = asks_;
  state.leaves = leaves_;
  if (given_) state.group = given_->group;
  tell(std::move(state));
}

}  // namespace starling::coordination
