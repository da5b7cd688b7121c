#include "starling/transport/matcher.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/runtime/virtual_scheduler.h"
#include "starling/transport/transport.h"
#include "tests/support/check.h"

namespace starling::transport {
namespace {

using testing::matches;
using testing::pattern;
using Bytes = std::vector<std::byte>;

// A transport that leaves everything to the test: receives are posted by hand.
class Idle final : public Transport {
 public:
  explicit Idle(runtime::Scheduler& scheduler) : Transport(scheduler, 0, 4) {}
  std::string_view name() const override { return "idle"; }

 private:
  void start_send(Sending&) override {}
  void start_recv(Inbound&) override {}
  void withdraw_send(Sending&) noexcept override {}
  void withdraw_recv(Inbound& receiving) noexcept override { receiving.unlink(); }
};

class MatcherTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Arrival> message(Rank from, Tag tag, std::size_t bytes, std::uint64_t seed) {
    return std::make_unique<KeptArrival>(from, tag, pattern(bytes, seed));
  }

  static std::string error_of(const Receiving& receiving) {
    try {
      receiving.result();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  runtime::VirtualScheduler scheduler_;
  Idle net_{scheduler_};
  Matcher matcher_;
};

TEST_F(MatcherTest, AMessageWaitsForItsReceive) {
  matcher_.deliver(message(1, 7, 10, 3));
  EXPECT_EQ(matcher_.find(1, 7), nullptr);
  Bytes buffer(10);
  Receiving receiving(net_, 1, 7, buffer);
  EXPECT_TRUE(matcher_.post(receiving));
  EXPECT_TRUE(receiving.done());
  EXPECT_TRUE(matches(buffer, 3));
}

TEST_F(MatcherTest, AReceiveWaitsForItsMessage) {
  Bytes buffer(10);
  Receiving receiving(net_, 1, 7, buffer);
  EXPECT_FALSE(matcher_.post(receiving));
  EXPECT_EQ(matcher_.find(1, 7), &receiving);
  matcher_.deliver(message(2, 7, 10, 1));  // another sender
  matcher_.deliver(message(1, 8, 10, 2));  // another tag
  EXPECT_FALSE(receiving.done());
  matcher_.deliver(message(1, 7, 10, 3));
  EXPECT_TRUE(receiving.done());
  EXPECT_TRUE(matches(buffer, 3));
  EXPECT_EQ(matcher_.find(1, 7), nullptr);
}

TEST_F(MatcherTest, BothSidesAreServedInOrder) {
  Bytes first(4), second(4), third(4);
  Receiving a(net_, 1, 7, first), b(net_, 1, 7, second), c(net_, 1, 7, third);
  matcher_.post(a);
  matcher_.post(b);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) matcher_.deliver(message(1, 7, 4, seed));
  EXPECT_TRUE(matcher_.post(c));
  EXPECT_TRUE(matches(first, 1));
  EXPECT_TRUE(matches(second, 2));
  EXPECT_TRUE(matches(third, 3));
}

// There are 64 buckets, so many of these tags share one.
TEST_F(MatcherTest, TagsThatShareABucketAreKeptApart) {
  constexpr Tag kTags = 500;
  for (Tag tag = 0; tag < kTags; ++tag) matcher_.deliver(message(1, tag, 8, tag));
  for (Tag tag = kTags; tag-- > 0;) {
    Bytes buffer(8);
    Receiving receiving(net_, 1, tag, buffer);
    ASSERT_TRUE(matcher_.post(receiving));
    ASSERT_TRUE(matches(buffer, tag));
  }
}

TEST_F(MatcherTest, AnyTakesTheOldestOfAllSenders) {
  matcher_.deliver(message(3, 7, 5, 1));
  matcher_.deliver(message(1, 7, 6, 2));
  ReceivingAny first(net_, 7), second(net_, 7), third(net_, 7);
  EXPECT_TRUE(matcher_.post(first));
  EXPECT_TRUE(matcher_.post(second));
  EXPECT_FALSE(matcher_.post(third));
  matcher_.deliver(message(2, 7, 0, 3));
  EXPECT_EQ(first.result().from, 3);
  const Letter letter = second.result();
  EXPECT_EQ(letter.from, 1);
  EXPECT_EQ(letter.bytes, pattern(6, 2));
  EXPECT_EQ(third.result().from, 2);
}

TEST_F(MatcherTest, AWrongSizeFailsTheReceiveAndUsesUpTheMessage) {
  Bytes buffer(9, std::byte{1});
  Receiving early(net_, 1, 7, buffer);
  matcher_.post(early);
  matcher_.deliver(message(1, 7, 10, 3));
  EXPECT_EQ(error_of(early), "rank 0: message 7 from rank 1 has 10 bytes, the receive expects 9");
  matcher_.deliver(message(1, 7, 8, 3));
  Receiving late(net_, 1, 7, buffer);
  EXPECT_TRUE(matcher_.post(late));
  EXPECT_EQ(error_of(late), "rank 0: message 7 from rank 1 has 8 bytes, the receive expects 9");
  EXPECT_EQ(buffer, Bytes(9, std::byte{1}));
  Receiving next(net_, 1, 7, buffer);
  EXPECT_FALSE(matcher_.post(next));
}

TEST_F(MatcherTest, ADestroyedReceiveIsNotFound) {
  Bytes buffer(4), other(4);
  std::optional<Receiving> gone(std::in_place, net_, 1, 7, buffer);
  Receiving stays(net_, 1, 7, other);
  matcher_.post(*gone);
  matcher_.post(stays);
  gone.reset();
  matcher_.deliver(message(1, 7, 4, 9));
  EXPECT_TRUE(stays.done());
  EXPECT_EQ(buffer, Bytes(4));
}

// A message whose sender took it back while it lay here.
class Withdrawn final : public Arrival {
 public:
  using Arrival::Arrival;
  bool read(std::span<std::byte>) override { return false; }
};

TEST_F(MatcherTest, AWithdrawnMessageIsSkipped) {
  Bytes buffer(4);
  matcher_.deliver(std::make_unique<Withdrawn>(1, 7, 4));
  matcher_.deliver(message(1, 7, 4, 2));
  Receiving receiving(net_, 1, 7, buffer);
  EXPECT_TRUE(matcher_.post(receiving));
  EXPECT_TRUE(matches(buffer, 2));

  Receiving waiting(net_, 1, 7, buffer);
  EXPECT_FALSE(matcher_.post(waiting));
  matcher_.deliver(std::make_unique<Withdrawn>(1, 7, 4));
  EXPECT_FALSE(waiting.done()) << "it goes on waiting";
  matcher_.deliver(message(1, 7, 4, 3));
  EXPECT_TRUE(matches(buffer, 3));
}

TEST_F(MatcherTest, FailsThoseThatAreChosen) {
  Bytes buffer(4);
  Receiving from_one(net_, 1, 7, buffer), from_two(net_, 2, 7, buffer), also_one(net_, 1, 300, buffer);
  for (Receiving* receiving : {&from_one, &from_two, &also_one}) matcher_.post(*receiving);
  matcher_.fail_if([](const Inbound& receiving) {
    return receiving.peer() == 1 ? std::make_exception_ptr(PeerLost(1, "gone")) : std::exception_ptr();
  });
  EXPECT_EQ(error_of(from_one), "rank 1 lost: gone");
  EXPECT_EQ(error_of(also_one), "rank 1 lost: gone");
  EXPECT_FALSE(from_two.done());
}

}  // namespace
}  // namespace starling::transport
