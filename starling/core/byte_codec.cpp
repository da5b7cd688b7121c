#include "starling/core/byte_codec.h"

namespace starling {

ByteWriter& ByteWriter::put_raw(std::span<const std::byte> data) {
  bytes_.insert(bytes_.end(), data.begin(), data.end());
  return *this;
}

ByteReader ByteReader::message(std::span<const std::byte> bytes, std::string what) {
  ByteReader reader(bytes, std::move(what));
  const auto version = reader.get<std::uint8_t>();
  if (version != kWireVersion)
    reader.refuse(concat("its version is ", version, ", this program's is ", kWireVersion));
  return reader;
}

std::string ByteReader::get_text() {
  const auto text = get_block();
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

void ByteReader::refuse(std::string_view why) const { throw Error(concat(what_, ": ", why)); }

void ByteReader::expect_end() const {
  if (!rest_.empty()) refuse(concat(rest_.size(), " bytes too many"));
}

std::span<const std::byte> ByteReader::take(std::uint64_t count) {
  if (count > rest_.size()) refuse(concat(count, " bytes wanted, ", rest_.size(), " left"));
  const auto taken = rest_.first(static_cast<std::size_t>(count));
  rest_ = rest_.subspan(taken.size());
  return taken;
}

}  // namespace starling
