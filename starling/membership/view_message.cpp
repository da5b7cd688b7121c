#include "starling/membership/view_message.h"

#include <algorithm>

#include "starling/core/error.h"

namespace starling::membership {

namespace {

void put_group(ByteWriter& writer, const Group& group) {
  writer.put<std::uint32_t>(static_cast<std::uint32_t>(group.size()));
  for (const Rank rank : group) writer.put<std::int32_t>(rank);
}

Group get_group(ByteReader& reader) {
  const auto size = reader.get<std::uint32_t>();
  if (size > reader.left() / sizeof(std::int32_t)) reader.refuse(concat("a group of ", size, " ranks"));
  Group group(size);
  for (Rank& rank : group) rank = reader.get<std::int32_t>();
  if (std::adjacent_find(group.begin(), group.end(), std::greater_equal<>()) != group.end()) {
    reader.refuse("a group is not in ascending order");
  }
  return group;
}

void put_ballot(ByteWriter& writer, const Ballot& ballot) {
  writer.put(ballot.attempt).put<std::int32_t>(ballot.rank);
}

Ballot get_ballot(ByteReader& reader) {
  Ballot ballot;
  ballot.attempt = reader.get<std::uint64_t>();
  ballot.rank = reader.get<std::int32_t>();
  return ballot;
}

}  // namespace

bool contains(const Group& group, Rank rank) { return std::binary_search(group.begin(), group.end(), rank); }

Bytes to_bytes(const ViewMessage& message) {
  ByteWriter writer = ByteWriter::message();
  writer.put(message.kind).put(message.epoch);
  put_ballot(writer, message.ballot);
  put_ballot(writer, message.accepted);
  put_group(writer, message.members);
  put_group(writer, message.dead);
  put_group(writer, message.unreachable);
  return writer.take();
}

ViewMessage view_message_from(std::span<const std::byte> bytes, Rank from) {
  ByteReader reader = ByteReader::message(bytes, concat("a message about views from rank ", from));
  ViewMessage message;
  message.kind = reader.get_enum(ViewMessage::Kind::kDecided, "message about views");
  message.epoch = reader.get<std::uint64_t>();
  message.ballot = get_ballot(reader);
  message.accepted = get_ballot(reader);
  message.members = get_group(reader);
  message.dead = get_group(reader);
  message.unreachable = get_group(reader);
  reader.expect_end();
  return message;
}

}  // namespace starling::membership
