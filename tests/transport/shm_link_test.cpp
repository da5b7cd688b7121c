// Processes whose links are emulated. Only lower bounds of times are checked: a busy machine is slower than
// any link. What must not wait for a link is tried on one so slow that waiting would never end.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <deque>
#include <optional>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "tests/support/check.h"
#include "tests/support/shm_world.h"

namespace starling::transport {
namespace {

using namespace std::chrono_literals;
using runtime::Task;
using testing::check;
using testing::Peer;
using Bytes = std::vector<std::byte>;

constexpr Link kFast{1e9, 100us};
constexpr Link kFrozen{1, 0us};  // a byte a second
constexpr std::size_t kMegabyte = 1'000'000;
constexpr Tag kGoTag = 100;

void expect_good(const Link& link, int ranks, const testing::World::Body& body,
                 std::optional<Rank> killed = {}) {
  const auto outcomes = testing::ShmWorld(link).run(ranks, body);
  for (Rank rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)], killed == rank ? "killed" : "") << "rank " << rank;
  }
}

// Counts from the moment before the receiver lets the senders start.
Task<> receive_all(Transport& net, int senders, int messages, Duration least) {
  const Time start = net.scheduler().now();
  for (Rank from = 1; from <= senders; ++from) co_await net.send(from, kGoTag, {});
  std::deque<Bytes> buffers;
  std::deque<Receiving> receives;
  for (Rank from = 1; from <= senders; ++from) {
    for (int i = 0; i < messages; ++i) receives.emplace_back(net, from, 1, buffers.emplace_back(kMegabyte));
  }
  for (Receiving& receiving : receives) co_await receiving;
  const Duration took = net.scheduler().now() - start;
  check(took >= least, concat("it took ", took.count(), " ns, the link needs ", least.count()));
  for (std::size_t i = 0; i < buffers.size(); ++i) check(testing::matches(buffers[i], 5), "the message");
}

Task<> send_all(Transport& net, int messages) {
  const Bytes data = testing::pattern(kMegabyte, 5);
  co_await net.recv(0, kGoTag, {});
  const Time start = net.scheduler().now();
  std::deque<Sending> sends;
  for (int i = 0; i < messages; ++i) sends.emplace_back(net, 0, 1, data);
  for (Sending& sending : sends) co_await sending;
  const Duration took = net.scheduler().now() - start;
  check(took >= messages * kFast.time_for(kMegabyte), "a send is done when it has left");
}

TEST(ShmLinkTest, MessagesTakeTheTimeOfTheirBytes) {
  expect_good(kFast, 2, [](Peer& peer) -> Task<> {
    constexpr int kMessages = 8;
    if (peer.net.rank() != 0) return send_all(peer.net, kMessages);
    return receive_all(peer.net, 1, kMessages, 2 * kFast.latency + kMessages * kFast.time_for(kMegabyte));
  });
}

TEST(ShmLinkTest, SendersShareTheWayIntoAReceiver) {
  expect_good(kFast, 4, [](Peer& peer) -> Task<> {
    if (peer.net.rank() != 0) return send_all(peer.net, 2);
    return receive_all(peer.net, 3, 2, 2 * kFast.latency + 6 * kFast.time_for(kMegabyte));
  });
}

TEST(ShmLinkTest, TheBufferOfADoneSendIsFree) {
  expect_good(kFast, 2, [](Peer& peer) -> Task<> {
    for (std::uint64_t round = 0; round < 5; ++round) {
      if (peer.net.rank() == 0) {
        const Memory memory = peer.net.allocate(kMegabyte);  // in the arena, where others could read it
        testing::fill(memory.bytes, round);
        co_await peer.net.send(1, 1, memory.bytes);
        testing::fill(memory.bytes, 1000);
        co_await peer.net.send(1, kGoTag, {});
      } else {
        co_await peer.net.recv(0, kGoTag, {});
        Bytes data(kMegabyte);
        co_await peer.net.recv(0, 1, data);
        check(testing::matches(data, round), "the message as it was sent");
      }
    }
  });
}

TEST(ShmLinkTest, MemoryIsNotShared) {
  expect_good(kFast, 2, [](Peer& peer) -> Task<> {
    check(peer.net.shared() == nullptr, "no memory is shared");
    co_return;
  });
}

TEST(ShmLinkTest, ARankReachesItselfWithoutALink) {
  expect_good(kFrozen, 1, [](Peer& peer) -> Task<> {
    Bytes data = testing::pattern(kMegabyte, 1), got(kMegabyte);
    co_await peer.net.send(0, 1, data);
    co_await peer.net.recv(0, 1, got);
    check(testing::matches(got, 1), "the message");
  });
}

TEST(ShmLinkTest, AWithdrawnMessageFreesTheLink) {
  expect_good(kFrozen, 2, [](Peer& peer) -> Task<> {
    if (peer.net.rank() == 1) co_return co_await peer.net.recv(0, 2, {});
    const Bytes data(kMegabyte);
    std::optional<Sending> leaving(std::in_place, peer.net, 1, 1, data);
    std::optional<Sending> queued(std::in_place, peer.net, 1, 1, data);
    auto behind = peer.net.send(1, 2, {});
    co_await runtime::yield();
    queued.reset();
    leaving.reset();
    co_await behind;
  });
}

template <class Awaitable>
Task<> check_lost(Awaitable& awaitable, Rank rank) {
  const std::string error = co_await testing::error_of<PeerLost>(awaitable);
  testing::check_contains(error, concat("rank ", rank, " lost"));
}

TEST(ShmLinkTest, MessagesThatWaitForADeadRankFailAndFreeTheLink) {
  const auto body = [](Peer& peer) -> Task<> {
    if (peer.net.rank() == 1) {
      co_await peer.net.recv(0, kGoTag, {});
      peer.die();
    }
    if (peer.net.rank() == 2) co_return co_await peer.net.recv(0, 2, {});
    const Bytes data(kMegabyte);
    co_await peer.net.send(1, kGoTag, {});
    auto leaving = peer.net.send(1, 1, data);
    auto queued = peer.net.send(1, 1, data);
    auto behind = peer.net.send(2, 2, {});
    co_await check_lost(leaving, 1);
    co_await check_lost(queued, 1);
    co_await behind;
  };
  expect_good(kFrozen, 3, body, 1);
}

TEST(ShmLinkTest, WhatHadNotLeftADeadRankNeverArrives) {
  const auto body = [](Peer& peer) -> Task<> {
    Bytes data(kMegabyte);
    if (peer.net.rank() == 1) {
      auto before = peer.net.send(0, 2, {});
      const auto leaving = peer.net.send(0, 1, data);
      co_await before;
      co_await runtime::yield();
      peer.die();
    }
    co_await peer.net.recv(1, 2, {});
    auto never = peer.net.recv(1, 1, data);
    co_await check_lost(never, 1);
  };
  expect_good(kFrozen, 2, body, 1);
}

// The message is in flight for so long that its sender is certainly dead when it arrives.
TEST(ShmLinkTest, WhatHadLeftADeadRankArrivesBeforeTheNewsOfItsDeath) {
  for (const std::size_t bytes : {std::size_t{10}, kMegabyte}) {
    const auto body = [bytes](Peer& peer) -> Task<> {
      Bytes data = testing::pattern(bytes, 3);
      if (peer.net.rank() == 1) {
        co_await peer.net.send(0, 1, data);
        peer.die();
      }
      Bytes got(bytes);
      co_await peer.net.recv(1, 1, got);
      check(testing::matches(got, 3), "the message");
      auto more = peer.net.recv(1, 1, got);
      co_await check_lost(more, 1);
    };
    expect_good(Link{1e9, 200ms}, 2, body, 1);
  }
}

}  // namespace
}  // namespace starling::transport
