// A rank's record as a message.
#pragma once

#include "starling/core/byte_codec.h"
#include "starling/record/run_record.h"

namespace starling::session {

Bytes to_bytes(const record::RankRecord& record);

// Error, saying what is wrong, if these are not the bytes of a record.
record::RankRecord record_from(std::span<const std::byte> bytes);

}  // namespace starling::session
