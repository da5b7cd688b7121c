// Damaged messages, from seeds. One connection carries one message, so 100,000 of them are given straight to
// the functions that the server and the clients read them with, and some thousands go through real
// connections to a server at which a real job meets meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>

#include "starling/core/random.h"
#include "starling/join/rendezvous_roster.h"
#include "tests/join/rendezvous_visitors.h"

namespace starling::join {
namespace {

using testing::hello_of;
using testing::kToken;
using testing::Visitor;

constexpr int kRanks = 4;

std::string random_bytes(Random& random, std::size_t count) {
  std::string bytes(count, '\0');
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random.next()); });
  return bytes;
}

std::string random_message(Random& random) {
  Hello hello = hello_of(random.between(0, kRanks), random.between(kRanks - 1, kRanks + 1),
                         random_bytes(random, random.below(random.chance(0.02) ? kMostCardBytes : 200)));
  if (random.chance(0.5)) hello.token = random_bytes(random, random.below(kMostTokenBytes + 10));
  switch (random.below(5)) {
    case 0:
      return cards_message({hello.card, "", hello.token, "x"});
    case 1:
      return missing_message({0, random.between(0, 5)});
    case 2:
      return refusal_message({random.chance(0.5), hello.card});
    default:
      return hello_message(hello);
  }
}

void flip_bits(Random& random, std::string& bytes) {
  for (std::uint64_t i = random.below(8) + 1; i > 0 && !bytes.empty(); --i) {
    // Half of them in the part that has a meaning.
    const std::size_t within = random.chance(0.5) ? std::min<std::size_t>(bytes.size(), 30) : bytes.size();
    char& byte = bytes[random.below(within)];
    byte = static_cast<char>(byte ^ (1 << random.below(8)));
  }
}

// Any length, also ones near the limits and far beyond what follows.
void lie_about_length(Random& random, std::string& bytes) {
  const std::uint64_t limit = most_bytes(Word::kHello, 0);
  const std::uint64_t lies[] = {0,
                                13,
                                14,
                                limit - 1,
                                limit,
                                limit + 1,
                                UINT32_MAX,
                                random.below(UINT32_MAX),
                                random.below(bytes.size() + 20)};
  const std::uint64_t lie = lies[random.below(std::size(lies))];
  for (std::size_t i = 0; i < 4; ++i) bytes[8 + i] = static_cast<char>(lie >> (8 * i));
}

std::string damaged_message(Random& random) {
  std::string bytes = random_message(random);
  switch (random.below(6)) {
    case 0:
      flip_bits(random, bytes);
      return bytes;
    case 1:
      return bytes.substr(0, random.below(bytes.size() + 1));
    case 2:
      lie_about_length(random, bytes);
      return bytes;
    case 3:
      return random_bytes(random, random.below(300));
    case 4:  // a head that is right, and garbage
      return bytes.substr(0, kHeadBytes) + random_bytes(random, bytes.size() - kHeadBytes);
    default:
      return bytes + bytes;  // the message twice
  }
}

std::string_view body_of(std::string_view bytes, const Head& head) {
  return bytes.substr(kHeadBytes, head.length);
}

// Parses a message as the server does: the hello that it would accept.
std::optional<Hello> accepted(const RendezvousRoster& attendance, std::string_view bytes) {
  const auto head = read_head(bytes.substr(0, kHeadBytes));
  if (!head || head->version != kRendezvousVersion || head->word != Word::kHello) return std::nullopt;
  if (head->length > most_bytes(Word::kHello, 0)) return std::nullopt;
  if (body_of(bytes, *head).size() < head->length) return std::nullopt;
  auto hello = read_hello(body_of(bytes, *head));
  if (!hello || attendance.objection(*hello)) return std::nullopt;
  return hello;
}

bool printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Parses the body of an answer as a client does, of any kind.
void read_as_answers(std::string_view body) {
  if (const auto cards = read_cards(body, kRanks)) {
    ASSERT_EQ(cards->size(), std::size_t{kRanks});
  }
  if (const auto missing = read_missing(body, kRanks)) {
    for (const Rank rank : *missing) ASSERT_LT(rank, kRanks);
  }
  if (const auto refusal = read_refusal(body)) {
    ASSERT_LE(refusal->reason.size(), kMostReasonBytes);
    ASSERT_TRUE(printable(refusal->reason));
  }
}

TEST(RendezvousFuzz, DamagedMessagesAreTakenApartSafely) {
  Random random(1);
  RendezvousRoster attendance(kToken, kRanks, 1'000'000);
  int seats = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string bytes = damaged_message(random);
    if (const auto hello = accepted(attendance, bytes)) {
      ASSERT_EQ(hello->token, kToken);
      ASSERT_LT(hello->rank, std::uint32_t{kRanks});
      ASSERT_LE(hello->card.size(), kMostCardBytes);
      attendance.sit(static_cast<Rank>(hello->rank), hello->card);
      ++seats;
    }
    if (attendance.complete()) {
      ASSERT_EQ(attendance.conclude().size(), std::size_t{kRanks});
    }
    read_as_answers(bytes.substr(std::min(bytes.size(), kHeadBytes)));
  }
  // Some are still hellos, as those with damage in the card alone; most are not.
  EXPECT_GT(seats, 0);
  EXPECT_LT(seats, 20'000);
}

TEST(RendezvousFuzz, WhatIsWrittenIsRead) {
  Random random(2);
  for (int i = 0; i < 1000; ++i) {
    Hello hello =
        hello_of(random.between(0, 9), random.between(0, 9), random_bytes(random, random.below(99)));
    hello.token = random_bytes(random, random.below(kMostTokenBytes + 1));
    const std::string bytes = hello_message(hello);
    const auto head = read_head(bytes.substr(0, kHeadBytes));
    ASSERT_TRUE(head && head->word == Word::kHello && head->length + kHeadBytes == bytes.size());
    const auto read = read_hello(body_of(bytes, *head));
    ASSERT_TRUE(read);
    EXPECT_EQ(std::tie(read->rank, read->ranks, read->patience_ms, read->token, read->card),
              std::tie(hello.rank, hello.ranks, hello.patience_ms, hello.token, hello.card));
  }
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Sends damaged messages until it has sent enough. None of them would get a seat: a process that knows the
// token and uses it well is not a stranger, and could take part in the job's meeting.
void send_damaged(std::uint16_t port, std::uint64_t seed, int count, std::atomic<int>& sent) {
  Random random(seed);
  const RendezvousRoster attendance(kToken, kRanks, 1);
  for (int i = 0; i < count; ++i, ++sent) {
    std::string bytes = damaged_message(random);
    while (accepted(attendance, bytes)) bytes = damaged_message(random);
    Visitor visitor(port);
    visitor.say(bytes);
    if (random.chance(0.25)) {
      visitor.finish_saying();
      const std::string answer = visitor.hear_all();
      EXPECT_EQ(answer.find(kToken), std::string::npos);
    }
    if (random.chance(0.9)) visitor.break_off();
  }
}

// Good messages that are repeated: in the same connection, and from another one.
void replay(const RendezvousServer& server) {
  for (Rank rank = 0; rank < kRanks; ++rank) {
    const std::string hello = hello_message(hello_of(rank, kRanks, "not of the job"));
    Visitor first(server.port());
    first.say(hello);
    ASSERT_TRUE(first.hears_welcome());
    Visitor second(server.port());
    second.say(hello);
    EXPECT_NE(second.hear_all(), "");
    first.say(hello);
    EXPECT_EQ(first.hear_all(), "");
  }
  testing::wait_for_missing(server, {0, 1, 2, 3});
}

TEST(RendezvousFuzz, AJobMeetsAmongDamagedMessages) {
  constexpr int kThreads = 2;
  constexpr int kEach = 10'000;
  constexpr int kMeetings = 5;
  const std::size_t before = open_descriptors();
  {
    RendezvousServer::Options options = testing::options_for(kRanks);
    options.meetings = kMeetings;
    options.strangers = 16;
    const RendezvousServer server(options);
    replay(server);
    std::atomic<int> sent = 0;
    std::vector<std::future<void>> senders;
    for (std::uint64_t i = 0; i < kThreads; ++i) {
      senders.push_back(
          std::async(std::launch::async, [&, i] { send_damaged(server.port(), 100 + i, kEach, sent); }));
    }
    for (int i = 1; i < kMeetings; ++i) {
      while (sent < kThreads * kEach * i / kMeetings) std::this_thread::yield();
      testing::expect_meeting(testing::point_at(server.port()), kRanks);
    }
    for (auto& sender : senders) sender.get();
    replay(server);
    testing::expect_meeting(testing::point_at(server.port()), kRanks);
    EXPECT_TRUE(server.served(testing::kPatience));
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace starling::join
