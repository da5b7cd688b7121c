// The messages of the rendezvous: a head of fixed size, and a body whose length the head gives. Numbers are
// little-endian. A conversation has one message of the visitor, kHello, and at most two of the server:
//
//   visitor   kHello    its token, rank, number of ranks, patience and card
//   server    kWelcome  the token is right, the rank has its seat
//             kCards    all have come: everybody's card, by rank
//             kMissing  the visitor's patience has run out: the ranks that have not come
//             kRefusal  instead of any of these: why, in one line
//
// The head and kRefusal stay as they are in all versions, so that different versions can explain themselves
// to each other. The input was written by strangers: nothing throws, nothing is trusted, and a caller
// compares a head with most_bytes before it makes room for the body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/core/types.h"

namespace starling::join {

inline constexpr std::uint16_t kRendezvousVersion = 1;
inline constexpr std::size_t kMostCardBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMostTokenBytes = 256;
inline constexpr std::size_t kMostReasonBytes = 500;
inline constexpr int kMostMeetingRanks = 4096;  // all cards together still fit a length of 32 bits
inline constexpr std::size_t kHeadBytes = 12;

enum class Word : std::uint16_t { kHello = 1, kWelcome = 2, kCards = 3, kMissing = 4, kRefusal = 5 };

struct Head {
  std::uint16_t version = kRendezvousVersion;
  Word word = Word::kHello;
  std::uint32_t length = 0;  // of the body
};

struct Hello {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t patience_ms = 0;
  std::string token;
  std::string card;
};

struct Refusal {
  bool callers_mistake = false;  // InvalidArgument; else Error
  std::string reason;
};

// Whole messages.
std::string hello_message(const Hello& hello);
std::string welcome_message();
std::string cards_message(const std::vector<std::string>& cards);
std::string missing_message(const std::vector<Rank>& missing);
std::string refusal_message(const Refusal& refusal);

// None if this is no message of a rendezvous.
std::optional<Head> read_head(std::string_view head);

// The longest body of such a message in a meeting of so many ranks; 0 for words that there are not.
std::size_t most_bytes(Word word, int ranks);

// Bodies; none if damaged.
std::optional<Hello> read_hello(std::string_view body);
std::optional<std::vector<std::string>> read_cards(std::string_view body, int ranks);
std::optional<std::vector<Rank>> read_missing(std::string_view body, int ranks);
// The reason is made fit to be shown: one line of printable ASCII.
std::optional<Refusal> read_refusal(std::string_view body);

}  // namespace starling::join
