// Messages that have a size and no memory.
#include <gtest/gtest.h>

#include <string>

#include "starling/core/error.h"
#include "starling/runtime/run.h"
#include "starling/transport/inproc.h"
#include "tests/support/check.h"
#include "tests/transport/conformance.h"

namespace starling::transport {
namespace {

using namespace std::chrono_literals;
using runtime::Task;
using testing::check_equal;
using testing::Peer;

std::span<std::byte> ghost(std::size_t bytes) { return {static_cast<std::byte*>(nullptr), bytes}; }

template <class Awaitable>
Task<std::string> refusal(Awaitable& operation) {
  try {
    co_await operation;
  } catch (const InvalidArgument& error) {
    co_return error.what();
  }
  co_return "accepted";
}

class GhostTest : public ::testing::Test {
 protected:
  runtime::VirtualScheduler scheduler_;
  AlphaBeta network_{{1us, 1e-9}};
  InprocWorld world_{scheduler_, 2, network_};
  Transport& sender_ = world_.at(0);
  Transport& receiver_ = world_.at(1);
};

TEST_F(GhostTest, TravelsWithItsSize) {
  const auto all = [&]() -> Task<> {
    auto receiving = receiver_.recv(0, 1, ghost(std::size_t{1} << 40));
    auto sending = sender_.send(1, 1, ghost(std::size_t{1} << 40));
    co_await receiving;
    co_await sending;
    auto early = sender_.send(1, 2, ghost(3000));
    co_await early;
    co_await receiver_.recv(0, 2, ghost(3000));
    EXPECT_EQ(scheduler_.now(), Time(2us + Duration((std::int64_t{1} << 40) + 3000)));
    EXPECT_EQ(sender_.traffic().messages, 2u);
    EXPECT_EQ(sender_.traffic().bytes, (std::uint64_t{1} << 40) + 3000);
  };
  runtime::run(scheduler_, all());
}

TEST_F(GhostTest, ASizeMustFitAllTheSame) {
  const auto all = [&]() -> Task<> {
    auto sending = sender_.send(1, 1, ghost(10));
    auto receiving = receiver_.recv(0, 1, ghost(11));
    EXPECT_EQ(co_await refusal(receiving),
              "rank 1: message 1 from rank 0 has 10 bytes, the receive expects 11");
    co_await sending;
  };
  runtime::run(scheduler_, all());
}

// Each once with the receive posted first and once with the message there first.
TEST_F(GhostTest, BytesReceivedAsAGhostAreDropped) {
  const auto all = [&]() -> Task<> {
    const Bytes data = testing::pattern(10, 1);
    auto receiving = receiver_.recv(0, 1, ghost(10));
    co_await sender_.send(1, 1, data);
    co_await receiving;
    co_await sender_.send(1, 1, data);
    co_await receiver_.recv(0, 1, ghost(10));
  };
  EXPECT_NO_THROW(runtime::run(scheduler_, all()));
}

TEST_F(GhostTest, AReceiveThatWantsBytesGetsAnError) {
  const std::string expected =
      "rank 1: message 1 of 10 bytes from rank 0 has a size and no memory, the receive wants its bytes";
  const auto all = [&]() -> Task<> {
    Bytes buffer(10, std::byte{1});
    auto first = receiver_.recv(0, 1, buffer);
    auto sending = sender_.send(1, 1, ghost(10));
    EXPECT_EQ(co_await refusal(first), expected);
    co_await sending;
    co_await sender_.send(1, 1, ghost(10));
    auto late = receiver_.recv(0, 1, buffer);
    EXPECT_EQ(co_await refusal(late), expected);
    EXPECT_EQ(buffer, Bytes(10, std::byte{1}));
    co_await sender_.send(1, 1, ghost(10));
    auto any = receiver_.recv_any(1);
    EXPECT_EQ(co_await refusal(any), expected);
  };
  runtime::run(scheduler_, all());
}

std::string refusal_of(Transport& net, bool send) {
  try {
    if (send) {
      const auto sending = net.send(1, 7, ghost(10));
    } else {
      const auto receiving = net.recv(1, 7, ghost(10));
    }
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST_P(Conformance, GhostsAreForSimulatedRanks) {
  expect_good(2, [](Peer& peer) -> Task<> {
    const std::string why =
        ": message 7 of 10 bytes has a size and no memory; only simulated ranks exchange such";
    const bool simulated = peer.net.carries_ghosts();
    check_equal(refusal_of(peer.net, true), simulated ? "accepted" : "send to rank 1" + why, "a send");
    check_equal(refusal_of(peer.net, false), simulated ? "accepted" : "receive from rank 1" + why,
                "a receive");
    const Bytes empty;
    if (peer.net.rank() == 0) co_await peer.net.send(1, 8, empty);
    if (peer.net.rank() == 1) co_await peer.net.recv(0, 8, {});
  });
}

}  // namespace
}  // namespace starling::transport
