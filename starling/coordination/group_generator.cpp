#include "starling/coordination/group_generator.h"

#include <algorithm>
#include <utility>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"

namespace starling::coordination {

using runtime::Task;
using Verb = GroupMessage::Verb;

namespace {

Verb verb_of(const GroupTable::Answer& answer) {
  if (answer.call) return Verb::kCall;
  return answer.group.number > 0 ? Verb::kGroup : Verb::kAlone;
}

}  // namespace

std::vector<int> hosts_of(int workers, const HostOf& host_of) {
  std::vector<int> hosts(static_cast<std::size_t>(workers));
  for (Rank rank = 0; rank < workers; ++rank) hosts[static_cast<std::size_t>(rank)] = host_of(rank);
  return hosts;
}

GroupGenerator::GroupGenerator(transport::Transport& net, Options setting)
    : net_(net), setting_(std::move(setting)), sender_(net) {}

bool GroupGenerator::leads() const {
  for (Rank rank = 0; rank < net_.rank(); ++rank) {
    if (!net_.lost(rank)) return false;
  }
  return true;
}

std::uint64_t GroupGenerator::lost_workers() const {
  if (!net_.any_lost()) return 0;
  std::uint64_t count = 0;
  for (Rank rank = 0; rank < workers(); ++rank) count += net_.lost(rank) ? 1 : 0;
  return count;
}

Task<> GroupGenerator::run() {
  runtime::Event& losses = net_.losses();
  while (!leads()) co_await losses;
  runtime::Scope scope(co_await runtime::this_context());
  scope_ = &scope;
  table_ = new_book();
  look_for_losses();
  scope.spawn(listen(), "notes");
  scope.spawn(watch_losses(), "losses");
  co_await scope.join();
}

std::unique_ptr<GroupTable> GroupGenerator::new_book() {
  if (setting_.rules.kind == GroupRules::Kind::kStatic) return nullptr;
  return std::make_unique<GroupTable>(hosts_of(workers(), setting_.host_of),
                                      make_policy(setting_.rules, setting_.random.fork(epoch_)),
                                      setting_.rules.calls);
}

GroupTable::Tally GroupGenerator::tally() const {
  GroupTable::Tally all = tally_;
  if (table_) all += table_->tally();
  return all;
}

Task<> GroupGenerator::listen() {
  try {
    for (;;) {
      const transport::Letter letter =
          co_await net_.recv_any(setting_.tags.to_generator, transport::Idle::kYes);
      handle(letter.from, message_from(letter.bytes));
    }
  } catch (const PeerLost&) {  // no worker is left
  }
}

// A successor takes a census too: its predecessor is lost. It does so before it reads a message: one from a
// worker that noticed the loss earlier would be answered from the empty table, with a number that was issued
// already.
void GroupGenerator::look_for_losses() {
  if (!alone() && lost_workers() > known_lost_) begin_census();
}

Task<> GroupGenerator::watch_losses() {
  runtime::Event& losses = net_.losses();
  while (!alone()) {
    look_for_losses();
    co_await losses;
  }
}

bool GroupGenerator::alone() const { return lost_workers() + 1 >= static_cast<std::uint64_t>(workers()); }

void GroupGenerator::handle(Rank from, const GroupMessage& note) {
  if (note.epoch != epoch_ || net_.lost(from)) return;
  if (note.verb == Verb::kState) return take_state(from, note);
  if (asking_) early_.emplace_back(from, note);
  if (asking_ || !table_) return;
  const Time now = net_.scheduler().now();
  if (note.verb == Verb::kAsk) carry(table_->ask(from, note, now), from);
  if (note.verb == Verb::kLeave) carry(table_->leave(from, note, now), from);
  if (note.verb == Verb::kDone) table_->done(note.group, now);
}

void GroupGenerator::carry(const GroupTable::Answers& answers, std::optional<Rank> because) {
  for (const GroupTable::Answer& answer : answers) {
    GroupMessage note;
    note.verb = verb_of(answer);
    note.last = answer.last;
    note.weight = answer.weight;
    note.group = answer.group;
    tell(answer.to, std::move(note));
    const bool waited = answer.asked < net_.scheduler().now();
    if (setting_.held && waited && because && because != answer.to) {
      setting_.held(answer.to, *because, answer.asked);
    }
  }
  if (setting_.counted) setting_.counted(tally(), censuses_);
  watch_time();
}

// One sleeping task at a time is enough: it looks at the table when it wakes.
void GroupGenerator::watch_time() {
  const std::optional<Time> due = table_->due();
  if (!due || (watched_ && *watched_ <= *due)) return;
  watched_ = due;
  scope_->spawn(look_at(*due), "window");
}

Task<> GroupGenerator::look_at(Time time) {
  co_await runtime::sleep_until(time);
  if (watched_ == time) watched_.reset();
  if (asking_) co_return;  // there will be another table
  const Time now = net_.scheduler().now();
  if (table_->due() && *table_->due() <= now) carry(table_->look(now));
  watch_time();
}

// Epochs of later generators are higher than those of earlier ones.
void GroupGenerator::begin_census() {
  known_lost_ = lost_workers();
  epoch_ = (static_cast<std::uint64_t>(net_.rank()) << 32) + ++censuses_;
  asking_ = true;
  early_.clear();
  states_.assign(static_cast<std::size_t>(workers()), std::nullopt);
  missing_ = states_.size() - known_lost_;
  GroupMessage census;
  census.verb = Verb::kCensus;
  for (Rank rank = 0; rank < workers(); ++rank) {
    if (net_.lost(rank)) census.group.members.push_back(rank);
  }
  for (Rank rank = 0; rank < workers(); ++rank) {
    if (!net_.lost(rank)) tell(rank, census);
  }
}

void GroupGenerator::take_state(Rank from, const GroupMessage& state) {
  auto& known = states_[static_cast<std::size_t>(from)];
  if (!asking_ || known) return;
  known = state;
  if (--missing_ == 0) end_census();
}

void GroupGenerator::end_census() {
  asking_ = false;
  if (!table_) return resume_schedule();
  tally_ = tally();
  table_ = new_book();
  watched_.reset();
  carry(table_->restore(states_, net_.scheduler().now()));
  for (const auto& [from, note] : std::exchange(early_, {})) handle(from, note);
}

// The worker that knows the most changes knows all that any worker acts on: each generator adds to the
// longest list.
void GroupGenerator::resume_schedule() {
  std::vector<ScheduleChange> changes;
  ScheduleChange next;
  for (Rank rank = 0; rank < workers(); ++rank) {
    const auto& state = states_[static_cast<std::size_t>(rank)];
    if (!state) {
      next.lost.push_back(rank);
      continue;
    }
    next.from = std::max(next.from, state->count + 1);
    std::vector<ScheduleChange> known = changes_from(state->group.members);
    if (known.size() > changes.size()) changes = std::move(known);
  }
  changes.push_back(std::move(next));
  GroupMessage note;
  note.verb = Verb::kResume;
  note.group.members = to_ranks(changes);
  for (Rank rank = 0; rank < workers(); ++rank) {
    if (states_[static_cast<std::size_t>(rank)]) tell(rank, note);
  }
}

void GroupGenerator::tell(Rank to, GroupMessage note) {
  note.epoch = epoch_;
  sender_.send(to, setting_.tags.to_worker, to_bytes(note));
}

}  // namespace starling::coordination
