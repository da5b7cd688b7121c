// The promises of every transport when ranks die.
#include <algorithm>
#include <chrono>
#include <deque>

#include "starling/runtime/deadline.h"
#include "tests/transport/conformance.h"

namespace starling::transport {
namespace {

using namespace std::chrono_literals;
using namespace testing;
using runtime::Task;

constexpr Tag kGo = 100;

// Until this rank knows of the loss.
Task<> await_loss(Transport& net, Rank rank) {
  while (!net.lost(rank)) co_await net.losses();
}

// The rank that a PeerLost names.
template <class Awaitable>
Task<Rank> lost_rank(Awaitable& awaitable) {
  try {
    co_await awaitable;
  } catch (const PeerLost& error) {
    check_contains(error.what(), concat("rank ", error.rank));
    co_return error.rank;
  }
  throw Error("check failed: it ended well instead of failing");
}

Task<> check_fails(Receiving& receiving, Rank dead) {
  check_equal(co_await lost_rank(receiving), dead, "the lost rank");
}

TEST_P(Conformance, APendingReceiveFromADeadRankFails) {
  const auto body = [](Peer& peer) -> Task<> {
    if (peer.net.rank() == 1) {
      for (const Rank rank : {0, 2}) co_await await_signal(peer.net, rank, kGo);
      peer.die();
    }
    Bytes buffer(1000);
    auto first = peer.net.recv(1, 1, buffer);
    auto second = peer.net.recv(1, 2, {});
    co_await signal(peer.net, 1, kGo);
    co_await check_fails(first, 1);
    co_await check_fails(second, 1);
  };
  expect(3, body, {1});
}

TEST_P(Conformance, AReceiveFromARankKnownToBeDeadFails) {
  const auto body = [](Peer& peer) -> Task<> {
    if (peer.net.rank() == 2) peer.die();
    co_await await_loss(peer.net, 2);
    check(!peer.net.why_lost(2).empty(), "the reason is known");
    check(!peer.net.lost(0) && !peer.net.lost(1), "the others live");
    Bytes buffer(10);
    for (int i = 0; i < 3; ++i) {
      auto receiving = peer.net.recv(2, 1, buffer);
      co_await check_fails(receiving, 2);
    }
  };
  expect(3, body, {2});
}

TEST_P(Conformance, SendsToADeadRankFailInTheEnd) {
  const auto body = [](Peer& peer) -> Task<> {
    if (peer.net.rank() == 0) {
      co_await await_signal(peer.net, 1, kGo);
      peer.die();
    }
    co_await signal(peer.net, 0, kGo);
    const Bytes data = pattern(10'000, 1);
    bool failed = false;
    while (!failed) {
      try {
        co_await peer.net.send(0, 1, data);
        co_await runtime::sleep_for(100us);
      } catch (const PeerLost& error) {
        check_equal(error.rank, 0, "the lost rank");
        failed = true;
      }
    }
    auto later = peer.net.send(0, 1, data);
    check_equal(co_await lost_rank(later), 0, "the lost rank");
  };
  expect(2, body, {0});
}

TEST_P(Conformance, WhatADeadRankHadSentIsDelivered) {
  const auto body = [](Peer& peer) -> Task<> {
    constexpr std::uint64_t kMessages = 20;
    if (peer.net.rank() == 1) {
      co_await await_signal(peer.net, 0, kGo);
      for (std::uint64_t i = 0; i < kMessages; ++i) {
        const Bytes data = pattern(64, i);
        co_await peer.net.send(0, i % 2, data);
        co_await peer.net.send(0, 5, data);
      }
      peer.die();
    }
    auto never = peer.net.recv(1, 9, {});
    co_await signal(peer.net, 1, kGo);
    co_await check_fails(never, 1);
    for (const std::uint64_t tag : {1, 0}) {
      for (std::uint64_t i = tag; i < kMessages; i += 2) co_await expect_message(peer.net, 1, tag, 64, i);
    }
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      const Letter letter = co_await peer.net.recv_any(5);
      check(letter.from == 1 && matches(letter.bytes, i), "the letter");
    }
    for (const Tag tag : {0, 1}) {
      Bytes buffer(64);
      auto one_too_many = peer.net.recv(1, tag, buffer);
      co_await check_fails(one_too_many, 1);
    }
  };
  expect(2, body, {1});
}

TEST_P(Conformance, RecvAnyFailsOnlyWhenAllOthersAreDead) {
  const auto body = [](Peer& peer) -> Task<> {
    if (peer.net.rank() == 1) {
      co_await await_signal(peer.net, 0, kGo);
      peer.die();
    }
    if (peer.net.rank() == 2) {
      co_await await_signal(peer.net, 0, kGo);
      const Bytes data = pattern(30, 3);
      co_await peer.net.send(0, 5, data);
      co_await await_signal(peer.net, 0, kGo);
      peer.die();
    }
    auto first = peer.net.recv_any(5);
    co_await signal(peer.net, 1, kGo);
    co_await await_loss(peer.net, 1);
    co_await signal(peer.net, 2, kGo);
    const Letter letter = co_await first;
    check(letter.from == 2 && matches(letter.bytes, 3), "the letter of the one that lives");
    auto pending = peer.net.recv_any(5);
    co_await signal(peer.net, 2, kGo);
    co_await lost_rank(pending);
    check(peer.net.lost(1) && peer.net.lost(2), "all others are lost");
    auto posted_later = peer.net.recv_any(6);
    co_await lost_rank(posted_later);
  };
  expect(3, body, {1, 2});
}

Task<> exchange(Transport& net, const Group& group, int rounds) {
  const auto me = static_cast<std::size_t>(std::find(group.begin(), group.end(), net.rank()) - group.begin());
  const Rank right = group[(me + 1) % group.size()], left = group[(me + group.size() - 1) % group.size()];
  for (int round = 0; round < rounds; ++round) {
    const auto seed = static_cast<std::uint64_t>(round);
    const Bytes data = pattern(5000, seed + 100 * static_cast<std::uint64_t>(net.rank()));
    auto sending = net.send(right, 1, data);
    co_await expect_message(net, left, 1, 5000, seed + 100 * static_cast<std::uint64_t>(left));
    co_await sending;
  }
}

TEST_P(Conformance, TheOthersGoOn) {
  const auto body = [](Peer& peer) -> Task<> {
    const Group all{0, 1, 2, 3}, rest{0, 1, 3};
    co_await exchange(peer.net, all, 10);
    if (peer.net.rank() == 2) peer.die();
    co_await await_loss(peer.net, 2);
    co_await exchange(peer.net, rest, 30);
  };
  expect(4, body, {2});
}

// The group does not wait for the news: some ranks exchange while one dies among them.
TEST_P(Conformance, ADeathDoesNotDisturbAnExchangeOfOthers) {
  const auto body = [](Peer& peer) -> Task<> {
    if (peer.net.rank() == 3) {
      co_await runtime::yield();
      peer.die();
    }
    const Group others{0, 1, 2};
    co_await exchange(peer.net, others, 50);
    co_await await_loss(peer.net, 3);
  };
  expect(4, body, {3});
}

TEST_P(Conformance, ARankMayDieInTheMiddleOfItsOperations) {
  const auto body = [](Peer& peer) -> Task<> {
    constexpr std::size_t kOperations = 20, kBytes = 50'000;
    const bool victim = peer.net.rank() == 1;
    const Bytes data = pattern(kBytes, static_cast<std::uint64_t>(peer.net.rank()));
    std::deque<Bytes> buffers;  // outlive what writes into them
    std::deque<Sending> sends;
    std::deque<Receiving> receives;
    for (Tag tag = 0; tag < kOperations; ++tag) {
      for (const Rank other : {0, 1, 2}) {
        if (other == peer.net.rank()) continue;
        sends.emplace_back(peer.net, other, tag, data);
        receives.emplace_back(peer.net, other, tag, buffers.emplace_back(kBytes));
      }
    }
    if (victim) {
      Receiving& first = receives.front();
      co_await first;
      peer.die();
    }
    for (std::size_t i = 0; i < receives.size(); ++i) {
      Receiving& receiving = receives[i];
      const Rank from = receiving.peer();
      try {
        co_await receiving;
        check(matches(buffers[i], static_cast<std::uint64_t>(from)), "a message that came is whole");
      } catch (const PeerLost& error) {
        check(error.rank == 1 && from == 1, "only what the dead rank owed is missing");
      }
    }
    for (auto& send : sends) {
      try {
        co_await send;
      } catch (const PeerLost& error) {
        check(error.rank == 1 && send.peer() == 1, "only sends to the dead rank fail");
      }
    }
    co_await await_loss(peer.net, 1);
  };
  expect(3, body, {1});
}

}  // namespace
}  // namespace starling::transport
