// Writing records into a pipe and reading them out. One process writes, one reads.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "starling/transport/shm/layout.h"

namespace starling::transport::shm {

// The largest message that is copied through a pipe; larger ones are offered.
inline constexpr std::size_t kInlineLimit = std::size_t{8} << 10;

// Whether a record with that much payload fits now.
bool has_room(const Pipe& pipe, std::size_t payload);

// False if there is no room now. `payload` follows the record.
bool write_record(Pipe& pipe, const Record& record, std::span<const std::byte> payload);

// The next record and its payload, which stay valid until `pop_record`.
struct Front {
  Record record;
  std::span<const std::byte> payload;
};
std::optional<Front> front_record(Pipe& pipe);
void pop_record(Pipe& pipe, const Front& front);

}  // namespace starling::transport::shm
