#include "starling/join/rendezvous_address.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/refusal.h"

namespace starling::join {
namespace {

using testing::refusal;

TEST(RendezvousAddress, IsReadAsItIsWritten) {
  for (const std::string text : {"node7:4000", "10.0.0.7:1", "[::1]:65535", "[fe80::1%eth0]:22"}) {
    EXPECT_EQ(address_of(parse_rendezvous_address(text, "--at")), text);
  }
  const RendezvousAddress point = parse_rendezvous_address("[::1]:4000", "--at");
  EXPECT_EQ(point.host, "::1");
  EXPECT_EQ(point.port, 4000);
  EXPECT_EQ(point.token, "");
}

TEST(RendezvousAddress, OtherTextsAreRefused) {
  for (const std::string text : {"", "node7", ":4000", "::1:4000", "[]:4000", "[node7]:4000", "[::1:4000",
                                 "[::1]", "no de:4000", "[[::1]]:4000"}) {
    EXPECT_EQ(
        refusal([&] { parse_rendezvous_address(text, "--at"); }),
        concat("--at: '", text, "'; allowed: HOST:PORT such as node7:4000, 10.0.0.7:4000 or [fe80::1]:4000"));
  }
  for (const std::string port : {"", "0", "65536", "-1", "4000x", " 4000"}) {
    EXPECT_EQ(refusal([&] { parse_rendezvous_address("node7:" + port, "--at"); }),
              concat("--at, the port: '", port, "' is not a whole number from 1 to 65535"));
  }
}

TEST(Token, IsLongAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string token = make_token();
    EXPECT_EQ(token.size(), 32U);
    EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(seen.insert(token).second);
  }
}

TEST(Token, IsTheSameOnlyIfEveryCharacterIs) {
  const std::string token = make_token();
  EXPECT_TRUE(same_token(token, token));
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(same_token(other, token));
    EXPECT_FALSE(same_token(token.substr(0, i), token));
  }
  EXPECT_FALSE(same_token(token + '\0', token));
  EXPECT_FALSE(same_token("", token));
}

}  // namespace
}  // namespace starling::join
