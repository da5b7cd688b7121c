#include "starling/coordination/generator.h"

#include <algorithm>
#include <utility>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"

namespace starling::coordination {

using runtime::Task;
using Verb = GroupNote::Verb;

std::vector<int> hosts_of(int workers, const HostOf& host_of) {
  std::vector<int> hosts(static_cast<std::size_t>(workers));
  for (Rank rank = 0; rank < workers; ++rank) hosts[static_cast<std::size_t>(rank)] = host_of(rank);
  return hosts;
}

Generator::Generator(transport::Transport& net, Setting setting)
    : net_(net), setting_(std::move(setting)), outbox_(net) {}

bool Generator::leads() const {
  for (Rank rank = 0; rank < net_.rank(); ++rank) {
    if (!net_.lost(rank)) return false;
  }
  return true;
}

std::uint64_t Generator::lost_workers() const {
  if (!net_.any_lost()) return 0;
  std::uint64_t count = 0;
  for (Rank rank = 0; rank < workers(); ++rank) count += net_.lost(rank) ? 1 : 0;
  return count;
}

Task<> Generator::run() {
  runtime::Event& losses = net_.losses();
  while (!leads()) co_await losses;
  runtime::Scope scope(co_await runtime::this_context());
  scope_ = &scope;
  book_ = new_book();
  look_for_losses();
  scope.spawn(listen(), "notes");
  scope.spawn(watch_losses(), "losses");
  co_await scope.join();
}

std::unique_ptr<GroupBook> Generator::new_book() {
  if (setting_.rules.kind == GroupRules::Kind::kStatic) return nullptr;
  return std::make_unique<GroupBook>(hosts_of(workers(), setting_.host_of),
                                     make_policy(setting_.rules, setting_.random.fork(epoch_)));
}

GroupBook::Tally Generator::tally() const {
  GroupBook::Tally all = tally_;
  if (book_) all += book_->tally();
  return all;
}

Task<> Generator::listen() {
  try {
    for (;;) {
      const transport::Letter letter = co_await net_.recv_any(setting_.tags.to_generator, kForever);
      handle(letter.from, note_from(letter.bytes));
    }
  } catch (const PeerLost&) {  // nobody is left
  }
}

// Who takes over takes a census too: its predecessor is lost. Before it reads a note: one from a worker that
// has noticed the loss earlier would be answered from the empty book, with a number that was given out.
void Generator::look_for_losses() {
  if (!alone() && lost_workers() > known_lost_) begin_census();
}

Task<> Generator::watch_losses() {
  runtime::Event& losses = net_.losses();
  while (!alone()) {
    look_for_losses();
    co_await losses;
  }
}

bool Generator::alone() const { return lost_workers() + 1 >= static_cast<std::uint64_t>(workers()); }

void Generator::handle(Rank from, const GroupNote& note) {
  if (note.epoch != epoch_ || net_.lost(from)) return;
  if (note.verb == Verb::kState) return take_state(from, note);
  if (asking_) early_.emplace_back(from, note);
  if (asking_ || !book_) return;
  const Time now = net_.scheduler().now();
  if (note.verb == Verb::kAsk) carry(book_->ask(from, note, now), from);
  if (note.verb == Verb::kLeave) carry(book_->leave(from, note, now), from);
  if (note.verb == Verb::kDone) book_->done(note.group, now);
}

void Generator::carry(const GroupBook::Answers& answers, std::optional<Rank> because) {
  for (const GroupBook::Answer& answer : answers) {
    GroupNote note;
    note.verb = answer.group.number > 0 ? Verb::kGroup : Verb::kAlone;
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

// One sleeper at a time is enough: it looks at the book when it wakes.
void Generator::watch_time() {
  const std::optional<Time> due = book_->due();
  if (!due || (watched_ && *watched_ <= *due)) return;
  watched_ = due;
  scope_->spawn(look_at(*due), "window");
}

Task<> Generator::look_at(Time time) {
  co_await runtime::sleep_until(time);
  if (watched_ == time) watched_.reset();
  if (asking_) co_return;  // there will be another book
  const Time now = net_.scheduler().now();
  if (book_->due() && *book_->due() <= now) carry(book_->look(now));
  watch_time();
}

// Epochs of later generators are later than those of earlier ones.
void Generator::begin_census() {
  known_lost_ = lost_workers();
  epoch_ = (static_cast<std::uint64_t>(net_.rank()) << 32) + ++censuses_;
  asking_ = true;
  early_.clear();
  states_.assign(static_cast<std::size_t>(workers()), std::nullopt);
  missing_ = states_.size() - known_lost_;
  GroupNote census;
  census.verb = Verb::kCensus;
  for (Rank rank = 0; rank < workers(); ++rank) {
    if (net_.lost(rank)) census.group.members.push_back(rank);
  }
  for (Rank rank = 0; rank < workers(); ++rank) {
    if (!net_.lost(rank)) tell(rank, census);
  }
}

void Generator::take_state(Rank from, const GroupNote& state) {
  auto& known = states_[static_cast<std::size_t>(from)];
  if (!asking_ || known) return;
  known = state;
  if (--missing_ == 0) end_census();
}

void Generator::end_census() {
  asking_ = false;
  if (!book_) return resume_schedule();
  tally_ = tally();
  book_ = new_book();
  watched_.reset();
  carry(book_->restore(states_, net_.scheduler().now()));
  for (const auto& [from, note] : std::exchange(early_, {})) handle(from, note);
}

// Whoever knows most changes knows all that anybody acts on: each generator adds to the longest list.
void Generator::resume_schedule() {
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
  GroupNote note;
  note.verb = Verb::kResume;
  note.group.members = to_ranks(changes);
  for (Rank rank = 0; rank < workers(); ++rank) {
    if (states_[static_cast<std::size_t>(rank)]) tell(rank, note);
  }
}

void Generator::tell(Rank to, GroupNote note) {
  note.epoch = epoch_;
  outbox_.send(to, setting_.tags.to_worker, to_bytes(note));
}

}  // namespace starling::coordination
