#include "starling/collective/direct_meeting.h"

#include <memory>
#include <optional>
#include <string>

#include "starling/core/error.h"

namespace starling::collective {

namespace {

using transport::SharedMemory;
using transport::Watch;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33);
}

std::uint64_t hash_of(const Group& group) {
  std::uint64_t hash = group.size();
  for (const Rank rank : group) hash = mix(hash, static_cast<std::uint64_t>(rank));
  return hash;
}

constexpr Rank kNobody = -1;

std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }

}  // namespace

struct Meeting::History {
  explicit History(std::size_t ranks) : consumed(ranks) {}

  // The slots of all meetings of one transport, stored with its shared memory.
  static History& of(SharedMemory& memory, int ranks) {
    if (!memory.attachment) memory.attachment = std::make_shared<History>(static_cast<std::size_t>(ranks));
    return *static_cast<History*>(memory.attachment.get());
  }

  std::uint64_t next_serial = 1;
  // By rank and slot: the serial of the last posting there that we are finished with. A rank that has not
  // noticed the end of an exchange still shows its posting; this tells it from one for the next exchange.
  std::vector<std::array<std::uint64_t, kPostings>> consumed;
  // By own slot: whether the posting in it may be reused. Empty: the slot is free.
  std::array<std::function<bool()>, kPostings> reusable;
};

class Meeting::FreeSlot final : public Watch {
 public:
  explicit FreeSlot(Meeting& meeting) : Watch(meeting.memory_, meeting.deadline()), meeting_(meeting) {}
  bool ready() override { return meeting_.find_slot(); }
  std::string describe() const override {
    return concat(meeting_.describe(), ": one of the ", kPostings, " exchanges under way to end");
  }

 private:
  Meeting& meeting_;
};

class Meeting::Arrival final : public Watch {
 public:
  explicit Arrival(Meeting& meeting) : Watch(meeting.memory_, meeting.deadline()), meeting_(meeting) {}
  bool ready() override { return meeting_.settled(); }
  std::string describe() const override {
    std::vector<Rank> missing;
    for (const Member& member : meeting_.members_) {
      if (member.posting == nullptr) missing.push_back(member.rank);
    }
    return concat(meeting_.describe(), ": rank ", join_texts(missing));
  }

 private:
  Meeting& meeting_;
};

Meeting::Meeting(Transport& net, const Group& group, const Contribution& brings)
    : net_(net),
      memory_(*net.shared()),
      history_(History::of(memory_, net.size())),
      group_(group),
      brings_(brings),
      group_hash_(hash_of(group)),
      self_(index_in(group, net.rank())) {
  members_.resize(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) members_[i].rank = group[i];
}

Meeting::~Meeting() {
  if (stage_ == Stage::kPosted) withdraw();
  if (stage_ == Stage::kCommitted) {
    // Others may write into our data until they are done.
    memory_.quarantine({members_[self_].data, brings_.data.size()}, all_left());
    leave();
  }
}

Time Meeting::deadline() const { return net_.scheduler().now() + net_.patience(); }

std::string Meeting::describe() const {
  return concat("exchange ", brings_.tag, " among ranks ", join_texts(group_));
}

Timeout Meeting::late(const std::string& waited) const {
  return Timeout(
      concat("rank ", net_.rank(), ": ", waited, ": nothing after ", format_duration(net_.patience())));
}

Task<> Meeting::prepare() {
  while (!find_slot()) {  // after a wait too: another exchange of this rank may have been quicker
    FreeSlot free(*this);
    if (!co_await free) throw late(free.describe());
  }
}

Ledger& Meeting::ledger() const {
  const Member& first = members_.front();
  return board_of(memory_, first.rank).ledgers[first.slot];
}

bool Meeting::find_slot() {
  Board& board = board_of(memory_, net_.rank());
  for (std::size_t slot = 0; slot < kPostings; ++slot) {
    auto& reusable = history_.reusable[slot];
    if (reusable && !reusable()) continue;
    if (!reusable && Posting::state_of(board.postings[slot].state.load()) != Posting::kFree) continue;
    members_[self_].slot = slot;
    return true;
  }
  return false;
}

std::span<std::byte> Meeting::inline_buffer() const {
  return board_of(memory_, net_.rank()).inline_data[members_[self_].slot];
}

Task<> Meeting::convene(std::byte* data) {
  Member& self = members_[self_];
  Board& board = board_of(memory_, self.rank);
  if (self.slot >= board.used.load(std::memory_order_relaxed)) board.used.store(self.slot + 1);
  Posting& posting = board.postings[self.slot];
  posting.state.store(Posting::word(history_.next_serial, Posting::kFree));
  history_.reusable[self.slot] = nullptr;
  self.serial = history_.next_serial++;
  self.posting = &posting;
  posting.tag = brings_.tag;
  posting.group = group_hash_;
  posting.offset = data == nullptr ? 0 : *memory_.offset_of({data, brings_.data.size()});
  posting.count = brings_.data.count;
  posting.type = static_cast<std::uint32_t>(brings_.data.type);
  posting.task = static_cast<std::uint32_t>(brings_.task);
  posting.reduction = static_cast<std::uint32_t>(brings_.how.kind);
  posting.root = brings_.root;
  posting.weight = brings_.how.weight;
  if (self_ == 0) {
    for (auto& word : ledger().left) word.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < brings_.pieces; ++i) ledger().pieces[i].store(0, std::memory_order_relaxed);
    ledger().verdict.store(Ledger::word(self.serial, Ledger::kOpen));
  }
  posting.state.store(Posting::word(self.serial, Posting::kPosted));
  stage_ = Stage::kPosted;

  Arrival arrival(*this);
  const bool in_time = co_await arrival;
  if (stage_ != Stage::kCommitted) give_up(in_time);
  for (Member& member : members_) member.data = memory_.at(member.posting->offset);
  check_agreement();
}

// Looks for the member's posting for this exchange. A posting that was seen before is checked again: it may
// have been withdrawn.
//
// A member that worked while we slept may have left this exchange and posted the next one of the same name
// already; of two postings the older one counts. Since we may also sleep in the middle of looking, a second
// look follows a find: an older posting was there before the newer one and stays until we leave.
bool Meeting::see(Member& member) {
  if (member.posting != nullptr) {
    const std::uint64_t word = member.posting->state.load();
    if (Posting::serial_of(word) == member.serial && Posting::state_of(word) != Posting::kFree) return true;
    member.posting = nullptr;
  }
  look_for(member);
  if (member.posting != nullptr) look_for(member);
  return member.posting != nullptr;
}

// Notes the oldest posting for this exchange.
void Meeting::look_for(Member& member) {
  Board& board = board_of(memory_, member.rank);
  const std::uint64_t used = board.used.load();
  for (std::size_t slot = 0; slot < used; ++slot) {
    Posting& posting = board.postings[slot];
    const std::uint64_t word = posting.state.load();
    const std::uint64_t serial = Posting::serial_of(word);
    if (Posting::state_of(word) == Posting::kFree) continue;
    if (history_.consumed[index(member.rank)][slot] == serial) continue;
    if (posting.tag != brings_.tag || posting.group != group_hash_) continue;
    if (Posting::serial_of(posting.state.load()) != serial) continue;  // reused while we read
    if (member.posting != nullptr && member.serial < serial) continue;
    member.posting = &posting;
    member.slot = slot;
    member.serial = serial;
  }
}

// True once the exchange is committed, or shall not be any more: then lost_ or aborted_by_ says why.
//
// If one member is gone and another is missing, the missing one may know already and never come, so it is not
// waited for.
bool Meeting::settled() {
  if (stage_ == Stage::kCommitted) return true;
  bool all = true;
  Rank gone = kNobody;
  for (Member& member : members_) {
    // The dead are named rather than the members that left because of them.
    if (memory_.gone(member.rank) && (gone == kNobody || memory_.died(member.rank))) gone = member.rank;
    // The writes of a rank before its end are visible once it is known to be gone: so this comes second.
    if (!see(member)) all = false;
  }
  if (all) return try_commit();
  lost_ = gone;
  return gone != kNobody;
}

bool Meeting::try_commit() {
  const std::uint64_t serial = members_.front().serial;
  std::uint64_t seen = ledger().verdict.load();
  if (seen == Ledger::word(serial, Ledger::kOpen)) {
    if (!lock_all()) return false;
    if (ledger().verdict.compare_exchange_strong(seen, Ledger::word(serial, Ledger::kCommitted))) {
      stage_ = Stage::kCommitted;
      wake_helpers();
      return true;
    }
  }
  if (Ledger::serial_of(seen) != serial) return false;  // the first member has withdrawn and posted anew
  if (Ledger::verdict_of(seen) == Ledger::kCommitted) {
    stage_ = Stage::kCommitted;
  } else {
    aborted_by_ = Ledger::aborter_of(seen);
  }
  return true;
}

bool Meeting::lock_all() {
  for (Member& member : members_) {
    std::uint64_t seen = Posting::word(member.serial, Posting::kPosted);
    const std::uint64_t locked = Posting::word(member.serial, Posting::kLocked);
    if (member.posting->state.compare_exchange_strong(seen, locked)) continue;
    if (Posting::serial_of(seen) != member.serial || Posting::state_of(seen) == Posting::kFree) return false;
  }
  return true;
}

// True if no member can count on this one any more; false if the exchange is committed.
bool Meeting::withdraw() {
  Member& self = members_[self_];
  std::uint64_t seen = Posting::word(self.serial, Posting::kPosted);
  const std::uint64_t freed = Posting::word(self.serial, Posting::kFree);
  if (!self.posting->state.compare_exchange_strong(seen, freed)) {
    // Locked. The first member is locked before any other, so if its posting is gone, it has aborted.
    Member& first = members_.front();
    if (see(first)) {
      std::uint64_t verdict = Ledger::word(first.serial, Ledger::kOpen);
      const std::uint64_t abort = Ledger::word(first.serial, Ledger::kAborted, self.rank);
      if (!ledger().verdict.compare_exchange_strong(verdict, abort) &&
          Ledger::serial_of(verdict) == first.serial && Ledger::verdict_of(verdict) == Ledger::kCommitted) {
        for (Member& member : members_) see(member);
        self.data = memory_.at(self.posting->offset);
        stage_ = Stage::kCommitted;
        return false;
      }
    }
    self.posting->state.store(freed);
  }
  stage_ = Stage::kGone;
  return true;
}

// The exchange did not take place: withdraws and throws the reason. Returns if it was committed after all.
void Meeting::give_up(bool in_time) {
  const std::string waited = Arrival(*this).describe();
  if (!withdraw()) return;
  if (lost_ >= 0) {
    throw PeerLost(lost_, concat("it ended before it came to ", describe()));
  }
  if (!in_time) throw late(waited);
  throw Timeout(concat(describe(), ": rank ", aborted_by_, " gave up waiting"));
}

// All see the same postings, so all come to the same conclusion.
void Meeting::check_agreement() const {
  const Posting& first = *members_.front().posting;
  for (const Member& member : members_) {
    const Posting& other = *member.posting;
    if (other.task == first.task && other.count == first.count && other.type == first.type &&
        other.reduction == first.reduction && other.root == first.root) {
      continue;
    }
    throw InvalidArgument(concat(describe(), ": rank ", members_.front().rank, " brings ", first.count,
                                 " of ", name_of(static_cast<DType>(first.type)), ", rank ", member.rank,
                                 " brings ", other.count, " of ", name_of(static_cast<DType>(other.type)),
                                 " or another operation"));
  }
}

// Sleeping members are woken only if there are cores for them: the others would take turns with the members
// that work already.
void Meeting::wake_helpers() {
  int helpers = brings_.pieces > 1 ? memory_.idle_cores() : 0;
  for (std::size_t i = 1; i < members_.size() && helpers > 0; ++i) {
    const Rank rank = members_[(self_ + i) % members_.size()].rank;
    if (memory_.ring(rank)) --helpers;
  }
}

std::function<bool()> Meeting::all_left() const {
  const Member& first = members_.front();
  return [&memory = memory_, group = group_, posting = first.posting, &common = ledger(),
          serial = first.serial] {
    const std::uint64_t word = posting->state.load();
    if (Posting::serial_of(word) != serial || Posting::state_of(word) == Posting::kFree) return true;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (!common.has_left(i) && !memory.gone(group[i])) return false;
    }
    return true;
  };
}

void Meeting::leave() {
  for (const Member& member : members_) {
    if (member.posting != nullptr) history_.consumed[index(member.rank)][member.slot] = member.serial;
  }
  const Member& self = members_[self_];
  history_.reusable[self.slot] = all_left();
  ledger().note_left(self_);
  self.posting->state.store(Posting::word(self.serial, Posting::kLeft));
  stage_ = Stage::kGone;
}

}  // namespace starling::collective
