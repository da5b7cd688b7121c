#include "starling/core/byte_codec.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace starling {
namespace {

enum class Colour : std::uint8_t { kRed, kGreen };

std::string refusal_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ByteCodec, NumbersAreLittleEndianWithoutGaps) {
  const Bytes bytes = ByteWriter().put<std::uint8_t>(7).put<std::uint32_t>(0x01020304).put(true).take();
  const Bytes expected{std::byte{7}, std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}, std::byte{1}};
  EXPECT_EQ(bytes, expected);
}

TEST(ByteCodec, ValuesComeBack) {
  const Bytes bytes = ByteWriter::message()
                          .put(-2.5)
                          .put<std::int64_t>(std::numeric_limits<std::int64_t>::min())
                          .put(Colour::kGreen)
                          .put(Duration(-3))
                          .put(Time(Duration(4)))
                          .pad(2)
                          .put_text("text")
                          .put_raw(std::array{std::byte{9}})
                          .take();
  ByteReader in = ByteReader::message(bytes, "values");
  EXPECT_EQ(in.get<double>(), -2.5);
  EXPECT_EQ(in.get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(in.get_enum(Colour::kGreen, "colour"), Colour::kGreen);
  EXPECT_EQ(in.get<Duration>(), Duration(-3));
  EXPECT_EQ(in.get<Time>(), Time(Duration(4)));
  in.skip(2);
  EXPECT_EQ(in.get_text(), "text");
  EXPECT_EQ(in.get_raw(1)[0], std::byte{9});
  in.expect_end();
}

TEST(ByteCodec, AnotherVersionIsRefusedNamingBoth) {
  Bytes bytes = ByteWriter::message().put(1).take();
  bytes[0] = std::byte{kWireVersion + 1};
  EXPECT_EQ(refusal_of([&] { ByteReader::message(bytes, "a message"); }),
            concat("a message: its version is ", kWireVersion + 1, ", this program's is ", kWireVersion));
  EXPECT_EQ(refusal_of([&] { ByteReader::message({}, "a message"); }), "a message: 1 bytes wanted, 0 left");
}

TEST(ByteCodec, DamageIsRefused) {
  const Bytes bytes{std::byte{2}, std::byte{0}};
  EXPECT_EQ(refusal_of([&] { ByteReader(bytes, "it").get<std::uint32_t>(); }), "it: 4 bytes wanted, 2 left");
  EXPECT_EQ(refusal_of([&] { ByteReader(bytes, "it").get<bool>(); }), "it: a truth value is 2");
  EXPECT_EQ(refusal_of([&] { ByteReader(bytes, "it").get_enum(Colour::kGreen, "colour"); }),
            "it: no colour has number 2");
  EXPECT_EQ(refusal_of([&] { ByteReader(bytes, "it").expect_end(); }), "it: 2 bytes too many");
  const Bytes block = ByteWriter().put<std::uint64_t>(100).take();
  EXPECT_EQ(refusal_of([&] { ByteReader(block, "it").get_block(); }), "it: 100 bytes wanted, 0 left");
}

}  // namespace
}  // namespace starling
