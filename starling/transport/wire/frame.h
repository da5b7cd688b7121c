// The frames by which ranks of different hosts hand over messages.
//
// A short message travels in its frame (kInline). A long one is offered; its receiver answers with kTake when
// it has a place for it, and the bytes follow as a bulk transfer, or with kDiscard if it does not want them.
// A sender waits for a slow receiver instead of filling its memory.
//
// A sender that gives up an offer keeps a copy, since the receiver may have taken the offer already, and says
// kWithdraw. The answer is kTake, which was on its way, or kDropped: so both always agree on whether the
// message was taken, and the order of messages holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/core/byte_codec.h"
#include "starling/core/types.h"

namespace starling::transport::wire {

// Versioned, and as long in a frame as in memory.
struct Head {
  static constexpr std::size_t kPadding = 6;  // in a frame, behind the version and the kind
  enum Kind : std::uint8_t { kInline, kOffer, kTake, kDiscard, kWithdraw, kDropped, kAlive, kBye };
  Kind kind = kAlive;
  Tag tag = 0;               // kInline, kOffer
  std::uint64_t bytes = 0;   // kInline, kOffer: of the message
  std::uint64_t number = 0;  // of the offer, counted by its sender
};

// Long enough for all control messages.
inline constexpr std::size_t kInlineLimit = std::size_t{32} << 10;

inline std::vector<std::byte> make_frame(const Head& head, std::span<const std::byte> data = {}) {
  ByteWriter frame = ByteWriter::message(sizeof head + data.size());
  frame.put(head.kind).pad(Head::kPadding).put(head.tag).put(head.bytes).put(head.number).put_raw(data);
  return frame.take();
}

// Throws Error, saying why, if these bytes are no frame.
inline Head read_frame(std::span<const std::byte> frame, std::span<const std::byte>& data) {
  ByteReader in = ByteReader::message(frame, "a frame");
  Head head;
  head.kind = in.get_enum(Head::kBye, "kind");
  in.skip(Head::kPadding);
  head.tag = in.get<std::uint64_t>();
  head.bytes = in.get<std::uint64_t>();
  head.number = in.get<std::uint64_t>();
  data = in.rest();
  const std::uint64_t expected = head.kind == Head::kInline ? head.bytes : 0;
  if (data.size() != expected) in.refuse(concat(data.size(), " bytes of data instead of ", expected));
  return head;
}

}  // namespace starling::transport::wire
