#include "starling/coordination/group_messages.h"

#include "starling/core/byte_codec.h"
#include "starling/core/error.h"

namespace starling::coordination {

namespace {

constexpr std::uint8_t kAsks = 1, kLeaves = 2, kLast = 4;
constexpr std::size_t kPadding = 1;
constexpr std::size_t kHeadBytes = 64;  // what goes ahead of the members

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
  ByteWriter out = ByteWriter::message(kHeadBytes + note.group.members.size() * sizeof(Rank));
  out.put(note.verb).put(flags).pad(kPadding).put(note.group.issue);
  out.put(note.epoch).put(note.count).put(note.finished).put(note.section).put(note.weight);
  out.put(note.group.number).put(note.group.round);
  for (const Rank member : note.group.members) out.put(member);
  return out.take();
}

GroupMessage message_from(std::span<const std::byte> bytes) {
  ByteReader in = ByteReader::message(bytes, "a group message");
  GroupMessage note;
  note.verb = in.get_enum(GroupMessage::Verb::kResume, "verb");
  const auto flags = in.get<std::uint8_t>();
  note.asks = (flags & kAsks) != 0;
  note.leaves = (flags & kLeaves) != 0;
  note.last = (flags & kLast) != 0;
  in.skip(kPadding);
  note.group.issue = in.get<std::uint32_t>();
  note.epoch = in.get<std::uint64_t>();
  note.count = in.get<std::uint64_t>();
  note.finished = in.get<std::uint64_t>();
  note.section = in.get<Duration>();
  note.weight = in.get<double>();
  note.group.number = in.get<std::uint64_t>();
  note.group.round = in.get<std::uint64_t>();
  note.group.members.reserve(in.left() / sizeof(Rank));
  while (in.left() > 0) note.group.members.push_back(in.get<Rank>());
  return note;
}

}  // namespace starling::coordination
