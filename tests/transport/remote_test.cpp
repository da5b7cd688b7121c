// Ranks of other hosts: what the conformance suite, which holds for them too, does not ask.
#include "starling/transport/wire/remote.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/transport/wire/frame.h"
#include "starling/transport/wire/ucx.h"
#include "tests/support/check.h"
#include "tests/support/wire_world.h"

namespace starling::transport::wire {
namespace {

using namespace std::chrono_literals;
using runtime::Task;
using testing::Peer;

class RemoteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_ucx().empty()) GTEST_SKIP() << why_no_ucx();
  }
};

// Its connection stays open and its kernel answers, as those of a host whose cable was pulled seem to for
// long.
Task<> stop_and_be_missed(Peer& self) {
  if (self.net.rank() == 1) {
    const pid_t own = getpid();
    co_await self.net.send(0, 1, std::as_bytes(std::span(&own, 1)));
    co_await self.net.recv(0, 2, {});  // it has the number: a send that is done may not be out yet
    raise(SIGSTOP);
    co_await self.net.recv(0, 3, {});
    co_return;
  }
  pid_t other = 0;
  co_await self.net.recv(1, 1, std::as_writable_bytes(std::span(&other, 1)));
  co_await self.net.send(1, 2, {});
  std::string missed;
  try {
    co_await self.net.recv(1, 3, {});
  } catch (const PeerLost& lost) {
    missed = lost.what();
  }
  kill(other, SIGKILL);  // in any case: a stopped process would be waited for
  testing::check_contains(missed, "rank 1 lost: nothing was heard of it for");
}

TEST_F(RemoteTest, ASilentRankIsLost) {
  testing::WireWorld world(0, 200ms);
  EXPECT_EQ(world.run(2, stop_and_be_missed), (std::vector<std::string>{"", "killed"}));
}

// More than passes in the time before a stop. Filling it would take so long under a sanitizer that the rank
// would be silent meanwhile, so nobody writes to it.
constexpr std::size_t kMuch = std::size_t{128} << 20;
std::unique_ptr<std::byte[]> much_memory() { return std::make_unique_for_overwrite<std::byte[]>(kMuch); }

// A receive is taken back while its message has half arrived, and its sender stands still.
Task<> stop_halfway(Peer& self) {
  const auto memory = much_memory();
  const std::span much(memory.get(), kMuch);
  if (self.net.rank() == 1) {
    const pid_t own = getpid();
    co_await self.net.send(0, 1, std::as_bytes(std::span(&own, 1)));
    const Sending sending(self.net, 0, 2, much);
    co_await runtime::sleep_for(10ms);
    raise(SIGSTOP);
    co_return;
  }
  pid_t other = 0;
  co_await self.net.recv(1, 1, std::as_writable_bytes(std::span(&other, 1)));
  std::string missed;
  try {
    const Receiving receiving(self.net, 1, 2, much);
    co_await runtime::sleep_for(20ms);
  } catch (const PeerLost&) {  // NOLINT(bugprone-empty-catch): so early it would be found below
  }
  try {
    co_await self.net.recv(1, 3, {});
  } catch (const PeerLost& lost) {
    missed = lost.what();
  }
  kill(other, SIGKILL);
  testing::check_contains(missed, "rank 1 lost: nothing was heard of it for");
}

TEST_F(RemoteTest, ASenderThatStopsHalfwayHoldsNobodyUp) {
  testing::WireWorld world(0, 200ms);
  EXPECT_EQ(world.run(2, stop_halfway), (std::vector<std::string>{"", "killed"}));
}

// Rank 0 takes back two long messages whose receivers stand still, which takes as long as the silence that is
// allowed, twice. To rank 3 it lives all the time.
Task<> take_back(Peer& self, std::span<const std::byte> much) {
  std::array<pid_t, 2> receivers{};
  for (const Rank rank : {1, 2}) {
    pid_t& pid = receivers[static_cast<std::size_t>(rank - 1)];
    co_await self.net.recv(rank, 1, std::as_writable_bytes(std::span(&pid, 1)));
  }
  {
    const Sending first(self.net, 1, 2, much), second(self.net, 2, 2, much);
    co_await runtime::sleep_for(30ms);  // they begin to receive, and stop
  }
  for (const pid_t pid : receivers) kill(pid, SIGKILL);
  co_await self.net.send(3, 3, {});
  co_await self.net.recv(3, 3, {});
}

Task<> take_back_from_the_stopped(Peer& self) {
  const auto memory = much_memory();
  const std::span much(memory.get(), kMuch);
  if (self.net.rank() == 0) {
    co_await take_back(self, much);
  } else if (self.net.rank() == 3) {
    co_await self.net.recv(0, 3, {});
    co_await self.net.send(0, 3, {});
  } else {
    const pid_t own = getpid();
    co_await self.net.send(0, 1, std::as_bytes(std::span(&own, 1)));
    const Receiving receiving(self.net, 0, 2, much);
    co_await runtime::sleep_for(15ms);
    raise(SIGSTOP);
  }
}

TEST_F(RemoteTest, WhoTakesMessagesBackFromTheStoppedLives) {
  testing::WireWorld world(0, 2s);  // the messages alone take a while to make, under a sanitizer
  EXPECT_EQ(world.run(4, take_back_from_the_stopped), (std::vector<std::string>{"", "killed", "killed", ""}));
}

// They compute, say nothing and are asked for nothing, for many times the silence that is allowed.
Task<> rest_and_meet(Peer& self) {
  co_await runtime::sleep_for(600ms);
  const Rank other = 1 - self.net.rank();
  auto sent = self.net.send(other, 1, {});
  co_await self.net.recv(other, 1, {});
  co_await sent;
}

TEST_F(RemoteTest, IdleRanksAreNotLost) {
  testing::WireWorld world(0, 200ms);
  EXPECT_EQ(world.run(2, rest_and_meet), (std::vector<std::string>{"", ""}));
}

TEST(FrameTest, WhatIsNoFrameIsRefused) {
  std::span<const std::byte> data;
  const auto frame = make_frame({.kind = Head::kInline, .tag = 7, .bytes = 3}, std::vector<std::byte>(3));
  EXPECT_EQ(read_frame(frame, data).tag, 7U);
  EXPECT_EQ(data.size(), 3U);
  EXPECT_THROW(read_frame(std::span(frame).first(sizeof(Head) - 1), data), Error);
  EXPECT_THROW(read_frame(std::span(frame).first(frame.size() - 1), data), Error) << "shorter than it says";
  auto unknown = make_frame({});
  unknown[1] = std::byte{99};
  EXPECT_THROW(read_frame(unknown, data), Error);
  auto newer = make_frame({});
  newer[0] = std::byte{99};
  EXPECT_THROW(read_frame(newer, data), Error);
  const auto long_take = make_frame({.kind = Head::kTake}, std::vector<std::byte>(1));
  EXPECT_THROW(read_frame(long_take, data), Error) << "data that it should not have";
}

}  // namespace
}  // namespace starling::transport::wire
