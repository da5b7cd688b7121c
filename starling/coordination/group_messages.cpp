#include "starling/coordination/group_messages.h"

#include <cstring>

#include "starling/core/error.h"

namespace starling::coordination {

namespace {

// What goes ahead of the members.
struct Head {
  std::uint64_t epoch;
  std::uint64_t count;
  std::uint64_t finished;
  std::uint64_t number;
  std::uint64_t round;
  double weight;
  Duration::rep section;
  std::uint32_t issue;
  std::uint8_t verb;
  std::uint8_t flags;
  std::uint16_t unused;
};

constexpr std::uint8_t kAsks = 1, kLeaves = 2, kLast = 4;

}  // namespace

Group to_ranks(const std::vector<ScheduleChange>& changes) {
  Group ranks;
  for (const ScheduleChange& change : changes) {
    ranks.push_back(static_cast<Rank>(change.from));
    ranks.push_back(static_cast<Rank>(change.lost.size()));
    ranks.insert(ranks.end(), change.lost.begin(), change.lost.end());
  }
  return ranks;
}

std::vector<ScheduleChange> changes_from(const Group& ranks) {
  std::vector<ScheduleChange> changes;
  for (std::size_t i = 0; i < ranks.size();) {
    const std::size_t left = ranks.size() - i;
    const std::size_t count = left < 2 ? 0 : static_cast<std::size_t>(ranks[i + 1]);
    if (left < 2 || count > left - 2) throw Error("a note about changes of the schedule is too short");
    const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(i + 2);
    changes.push_back(
        {static_cast<std::uint64_t>(ranks[i]), Group(first, first + static_cast<std::ptrdiff_t>(count))});
    i += 2 + count;
  }
  return changes;
}

std::vector<std::byte> to_bytes(const GroupMessage& note) {
  const auto flags = static_cast<std::uint8_t>((note.asks ? kAsks : 0) | (note.leaves ? kLeaves : 0) |
                                               (note.last ? kLast : 0));
  const Head head{note.epoch,
                  note.count,
                  note.finished,
                  note.group.number,
                  note.group.round,
                  note.weight,
                  note.section.count(),
                  note.group.issue,
                  static_cast<std::uint8_t>(note.verb),
                  flags,
                  0};
  const Group& members = note.group.members;
  std::vector<std::byte> bytes(sizeof(head) + members.size() * sizeof(Rank));
  std::memcpy(bytes.data(), &head, sizeof(head));
  if (!members.empty()) {
    std::memcpy(bytes.data() + sizeof(head), members.data(), members.size() * sizeof(Rank));
  }
  return bytes;
}

GroupMessage message_from(std::span<const std::byte> bytes) {
  Head head{};
  const std::size_t rest = bytes.size() - sizeof(head);
  if (bytes.size() < sizeof(head) || rest % sizeof(Rank) != 0) {
    throw Error(concat("a note about groups has ", bytes.size(), " bytes"));
  }
  std::memcpy(&head, bytes.data(), sizeof(head));
  if (head.verb > static_cast<std::uint8_t>(GroupMessage::Verb::kResume)) {
    throw Error(concat("a note about groups has the unknown verb ", head.verb));
  }
  GroupMessage note;
  note.verb = static_cast<GroupMessage::Verb>(head.verb);
  note.asks = (head.flags & kAsks) != 0;
  note.leaves = (head.flags & kLeaves) != 0;
  note.last = (head.flags & kLast) != 0;
  note.epoch = head.epoch;
  note.count = head.count;
  note.finished = head.finished;
  note.weight = head.weight;
  note.section = Duration(head.section);
  note.group = {head.number, head.issue, head.round, Group(rest / sizeof(Rank))};
  if (rest > 0) std::memcpy(note.group.members.data(), bytes.data() + sizeof(head), rest);
  return note;
}

}  // namespace starling::coordination
