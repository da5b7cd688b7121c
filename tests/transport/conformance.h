// The fixture of the tests that every transport must pass. They are instantiated in conformance_test.cpp.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/check.h"
#include "tests/support/world.h"

namespace starling::testing {

inline void PrintTo(const NamedWorld& world, std::ostream* out) {
  *out << world.name;
}  // NOLINT: GoogleTest's

}  // namespace starling::testing

namespace starling::transport {

class Conformance : public ::testing::TestWithParam<testing::NamedWorld> {
 protected:
  std::vector<std::string> outcomes(int ranks, const testing::World::Body& body) {
    return GetParam().make()->run(ranks, body);
  }

  void expect_good(int ranks, const testing::World::Body& body) { expect(ranks, body, {}); }

  // The ranks in `killed` die, all others end well.
  void expect(int ranks, const testing::World::Body& body, const std::vector<Rank>& killed) {
    std::vector<std::string> expected(static_cast<std::size_t>(ranks));
    for (const Rank rank : killed) expected[static_cast<std::size_t>(rank)] = "killed";
    EXPECT_EQ(outcomes(ranks, body), expected);
  }
};

using Bytes = std::vector<std::byte>;

// Empty messages, to make one rank wait for another.
inline runtime::Task<> signal(Transport& net, Rank to, Tag tag) { co_await net.send(to, tag, {}); }
inline runtime::Task<> await_signal(Transport& net, Rank from, Tag tag) { co_await net.recv(from, tag, {}); }

inline runtime::Task<> expect_message(Transport& net, Rank from, Tag tag, std::size_t bytes,
                                      std::uint64_t seed) {
  Bytes buffer(bytes);
  co_await net.recv(from, tag, buffer);
  testing::check(testing::matches(buffer, seed),
                 concat("message ", tag, " from rank ", from, " is not number ", seed));
}

inline std::string name_of(const ::testing::TestParamInfo<testing::NamedWorld>& info) {
  return info.param.name;
}

}  // namespace starling::transport
