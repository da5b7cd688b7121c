// What the members say to each other to agree on the next view (view_agreement.h).
#pragma once

#include <compare>
#include <cstdint>
#include <span>

#include "starling/core/byte_codec.h"
#include "starling/membership/view.h"

namespace starling::membership {

// Their tag.
inline constexpr Tag kViewMessages = (Tag{0xff} << 56) | (Tag{2} << 8) | 1;

// Orders the proposals for one epoch. No two are equal: a member uses each attempt once.
struct Ballot {
  std::uint64_t attempt = 0;  // 0: none
  Rank rank = 0;

  auto operator<=>(const Ballot&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 errs
};

struct ViewMessage {
  enum class Kind : std::uint8_t {
    kReport,    // a junior's evidence, for its most senior member
    kPrepare,   // round 1: asks for a promise
    kPromise,   // ... with what was accepted before, if anything
    kRefuse,    // a higher ballot was promised
    kAccept,    // round 2: asks for a vote
    kAccepted,  // the vote
    kDecided,   // a view in force
  };

  Kind kind = Kind::kReport;
  std::uint64_t epoch = 0;  // of the sender's view; kDecided: of the decided one
  Ballot ballot;            // of the proposal; kRefuse: of the promise that stands against it
  Ballot accepted;          // kPromise: of the proposal in `members`
  Group members;            // kAccept, kDecided, and kPromise if something was accepted
  Group dead;               // members whose end the sender knows for certain
  Group unreachable;        // members that the sender cannot reach

  bool operator==(const ViewMessage&) const = default;
};

Bytes to_bytes(const ViewMessage& message);
// Error, naming the sender, for bytes of another length, version or content.
ViewMessage view_message_from(std::span<const std::byte> bytes, Rank from);

}  // namespace starling::membership
