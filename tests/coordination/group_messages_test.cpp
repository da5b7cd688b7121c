#include "starling/coordination/group_messages.h"

#include <gtest/gtest.h>

#include "starling/core/byte_codec.h"
#include "starling/core/error.h"
#include "starling/core/random.h"

namespace starling::coordination {
namespace {

GroupMessage random_note(Random& random) {
  GroupMessage note;
  note.verb =
      static_cast<GroupMessage::Verb>(random.between(0, static_cast<int>(GroupMessage::Verb::kResume)));
  note.asks = random.chance(0.5);
  note.leaves = random.chance(0.5);
  note.last = random.chance(0.5);
  note.epoch = random.next();
  note.count = random.next();
  note.finished = random.next();
  note.section = Duration(random.between(0, 1'000'000'000));
  note.weight = random.uniform();
  note.group.number = random.next();
  note.group.issue = static_cast<std::uint32_t>(random.next());
  note.group.round = random.next();
  for (int members = random.between(0, 20); members > 0; --members) {
    note.group.members.push_back(random.between(0, 100'000));
  }
  return note;
}

TEST(GroupMessage, ComesBackAsItWas) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const GroupMessage note = random_note(random), back = message_from(to_bytes(note));
    EXPECT_EQ(back.verb, note.verb);
    EXPECT_EQ(back.asks, note.asks);
    EXPECT_EQ(back.leaves, note.leaves);
    EXPECT_EQ(back.last, note.last);
    EXPECT_EQ(back.epoch, note.epoch);
    EXPECT_EQ(back.count, note.count);
    EXPECT_EQ(back.finished, note.finished);
    EXPECT_EQ(back.section, note.section);
    EXPECT_EQ(back.weight, note.weight);
    EXPECT_EQ(back.group.number, note.group.number);
    EXPECT_EQ(back.group.issue, note.group.issue);
    EXPECT_EQ(back.group.round, note.group.round);
    EXPECT_EQ(back.group.members, note.group.members);
  }
}

TEST(GroupMessage, OfAnotherLengthIsRefused) {
  GroupMessage note;
  const std::vector<std::byte> empty = to_bytes(note);
  note.group.members = {1, 2, 3};
  const std::vector<std::byte> whole = to_bytes(note);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::span<const std::byte> part(whole.data(), length);
    if (length >= empty.size() && (length - empty.size()) % sizeof(Rank) == 0) {
      EXPECT_EQ(message_from(part).group.members.size(), (length - empty.size()) / sizeof(Rank));
    } else {
      EXPECT_THROW(message_from(part), Error) << length;
    }
  }
}

// The size counts in simulated runs.
TEST(GroupMessage, HasAFixedSizeAndAVersion) {
  std::vector<std::byte> bytes = to_bytes({});
  EXPECT_EQ(bytes.size(), 64U);
  bytes[0] = std::byte{kWireVersion + 1};
  EXPECT_THROW(message_from(bytes), Error);
}

// Any bytes are a message or an Error.
TEST(GroupMessage, DamagedBytesDoNoHarm) {
  Random random(2);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes = to_bytes(random_note(random));
    for (int hits = random.between(1, 8); hits > 0; --hits) {
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    }
    bytes.resize(bytes.size() - (random.chance(0.2) ? random.below(bytes.size()) : 0));
    try {
      EXPECT_LE(message_from(bytes).verb, GroupMessage::Verb::kResume);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(ScheduleChanges, ComeBackAsTheyWere) {
  const std::vector<ScheduleChange> changes{{1, {}}, {7, {2}}, {7, {2, 5, 9}}, {1000, {0, 2, 5, 9}}};
  EXPECT_EQ(changes_from(to_ranks(changes)), changes);
  EXPECT_EQ(changes_from({}), std::vector<ScheduleChange>{});
}

TEST(ScheduleChanges, ThatAreCutShortAreRefused) {
  EXPECT_THROW(changes_from({3, 2, 1}), Error);
  EXPECT_THROW(changes_from({3, -1, 1}), Error);
  EXPECT_THROW(changes_from({3, 1, 1, 4}), Error);
}

}  // namespace
}  // namespace starling::coordination
