// The promises of every transport about operations that are given up: destroyed, cancelled or too late.
#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>

#include "starling/runtime/deadline.h"
#include "starling/runtime/when.h"
#include "tests/transport/conformance.h"

namespace starling::transport {
namespace {

using namespace std::chrono_literals;
using namespace testing;
using runtime::Task;

constexpr std::byte kUntouched{0x77};

void check_untouched(const Bytes& buffer) {
  check_equal(std::count(buffer.begin(), buffer.end(), kUntouched),
              static_cast<std::ptrdiff_t>(buffer.size()), "the number of untouched bytes");
}

class Sizes : public std::vector<std::size_t> {
 public:
  Sizes() : std::vector<std::size_t>{16, 300'000} {}
};

TEST_P(Conformance, AWithdrawnReceiveLeavesTheMessageToTheNext) {
  for (const std::size_t bytes : Sizes()) {
    expect_good(2, [bytes](Peer& peer) -> Task<> {
      if (peer.net.rank() == 0) {
        co_await await_signal(peer.net, 1, 1);
        const Bytes data = pattern(bytes, 5);
        co_await peer.net.send(1, 2, data);
      } else {
        Bytes given_up(bytes, kUntouched);
        { const auto receiving = peer.net.recv(0, 2, given_up); }
        co_await signal(peer.net, 0, 1);
        co_await expect_message(peer.net, 0, 2, bytes, 5);
        check_untouched(given_up);
      }
    });
  }
}

TEST_P(Conformance, AWithdrawnReceiveGivesItsPlaceToThoseBehind) {
  expect_good(2, [](Peer& peer) -> Task<> {
    constexpr std::size_t kBytes = 64;
    if (peer.net.rank() == 0) {
      co_await await_signal(peer.net, 1, 1);
      for (std::uint64_t i = 1; i <= 3; ++i) {
        const Bytes data = pattern(kBytes, i);
        co_await peer.net.send(1, 2, data);
      }
    } else {
      Bytes first(kBytes), third(kBytes), second(kBytes, kUntouched);
      auto before = peer.net.recv(0, 2, first);
      std::optional<Receiving> given_up(std::in_place, peer.net, 0, 2, second);
      auto behind = peer.net.recv(0, 2, third);
      given_up.reset();
      co_await signal(peer.net, 0, 1);
      co_await behind;
      co_await before;
      check(matches(first, 1), "the first receive has the first message");
      check(matches(third, 2), "the one behind has the second");
      co_await expect_message(peer.net, 0, 2, kBytes, 3);
      check_untouched(second);
    }
  });
}

Task<> receive_into(Transport& net, Rank from, Tag tag, std::span<std::byte> buffer) {
  co_await net.recv(from, tag, buffer);
}

TEST_P(Conformance, ACancelledTaskWithdrawsItsReceive) {
  for (const std::size_t bytes : Sizes()) {
    expect_good(2, [bytes](Peer& peer) -> Task<> {
      if (peer.net.rank() == 0) {
        const Bytes data = pattern(bytes, 6);
        co_await await_signal(peer.net, 1, 1);
        co_await peer.net.send(1, 3, data);
        co_await await_signal(peer.net, 1, 1);
        co_await peer.net.send(1, 2, data);
      } else {
        Bytes loser(bytes, kUntouched), winner(bytes);
        co_await signal(peer.net, 0, 1);
        check_equal(co_await runtime::when_any(receive_into(peer.net, 0, 2, loser),
                                               receive_into(peer.net, 0, 3, winner)),
                    1u, "the winner");
        co_await signal(peer.net, 0, 1);
        co_await expect_message(peer.net, 0, 2, bytes, 6);
        check_untouched(loser);
      }
    });
  }
}

TEST_P(Conformance, AWithdrawnRecvAnyLeavesTheLetter) {
  expect_good(2, [](Peer& peer) -> Task<> {
    if (peer.net.rank() == 0) {
      co_await await_signal(peer.net, 1, 1);
      const Bytes data = pattern(9, 5);
      co_await peer.net.send(1, 2, data);
    } else {
      { const auto receiving = peer.net.recv_any(2); }
      co_await signal(peer.net, 0, 1);
      const Letter letter = co_await peer.net.recv_any(2);
      check(letter.bytes.size() == 9 && matches(letter.bytes, 5), "the letter");
    }
  });
}

// The transport decides whether the first message had left already when its send was destroyed; but it
// arrives whole or not at all, and the second arrives in any case.
TEST_P(Conformance, AWithdrawnSendIsDeliveredWholeOrNotAtAll) {
  for (const bool receive_first : {false, true}) {
    for (const std::size_t bytes : Sizes()) {
      expect_good(2, [=](Peer& peer) -> Task<> {
        if (peer.net.rank() == 0) {
          if (receive_first) co_await await_signal(peer.net, 1, 1);
          {
            Bytes given_up = pattern(bytes, 1);
            { const auto sending = peer.net.send(1, 2, given_up); }
            std::fill(given_up.begin(), given_up.end(), kUntouched);  // the buffer is ours again
          }
          const Bytes data = pattern(bytes, 2);
          auto sending = peer.net.send(1, 2, data);
          if (!receive_first) co_await signal(peer.net, 1, 1);
          co_await sending;
        } else {
          Bytes first(bytes);
          if (!receive_first) co_await await_signal(peer.net, 0, 1);
          auto receiving = peer.net.recv(0, 2, first);
          if (receive_first) co_await signal(peer.net, 0, 1);
          co_await receiving;
          if (matches(first, 1)) {
            co_await expect_message(peer.net, 0, 2, bytes, 2);
          } else {
            check(matches(first, 2), "a message is one or the other");
          }
        }
      });
    }
  }
}

TEST_P(Conformance, ManyWithdrawnSendsDoNotDisturbTheOthers) {
  expect_good(2, [](Peer& peer) -> Task<> {
    constexpr std::uint64_t kRounds = 50;
    constexpr std::size_t kBytes = 20'000;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      if (peer.net.rank() == 0) {
        const Bytes wanted = pattern(kBytes, round), unwanted = pattern(kBytes, 1000 + round);
        auto sending = peer.net.send(1, 1, wanted);
        { const auto given_up = peer.net.send(1, 2, unwanted); }
        co_await sending;
      } else {
        co_await expect_message(peer.net, 0, 1, kBytes, round);
      }
    }
  });
}

TEST_P(Conformance, PatienceEndsAReceiveThatNobodyAnswers) {
  for (const std::size_t bytes : Sizes()) {
    expect_good(2, [bytes](Peer& peer) -> Task<> {
      if (peer.net.rank() == 0) {
        co_await await_signal(peer.net, 1, 1);
        const Bytes data = pattern(bytes, 5);
        co_await peer.net.send(1, 23, data);
      } else {
        const Duration usual = peer.net.patience();
        peer.net.set_patience(3ms);
        check(peer.net.patience() == Duration(3ms), "the patience");
        Bytes late(bytes, kUntouched);
        auto receiving = peer.net.recv(0, 23, late);
        const Time start = peer.net.scheduler().now();
        const std::string text = co_await error_of<Timeout>(receiving);
        check(peer.net.scheduler().now() - start >= Duration(3ms), "it waited long enough");
        check_contains(text, "rank 1: message 23");
        check_contains(text, "from rank 0");
        auto any = peer.net.recv_any(23);
        check_contains(co_await error_of<Timeout>(any), "message 23 from any rank");

        peer.net.set_patience(usual);
        co_await signal(peer.net, 0, 1);  // sent only now: not to ranks that gave up
        co_await expect_message(peer.net, 0, 23, bytes, 5);
        check_untouched(late);
      }
    });
  }
}

TEST_P(Conformance, PatienceDoesNotTouchWhatComesInTime) {
  expect_good(2, [](Peer& peer) -> Task<> {
    peer.net.set_patience(50s);
    const Bytes data = pattern(10, 1);
    if (peer.net.rank() == 0) {
      co_await peer.net.send(1, 1, data);
    } else {
      co_await expect_message(peer.net, 0, 1, 10, 1);
    }
  });
}

// An operation belongs to its frame, the wait for it to another: a task that stops waiting leaves it as it
// is.
TEST_P(Conformance, AnOperationOutlivesAWaitThatIsCancelled) {
  expect_good(2, [](Peer& peer) -> Task<> {
    if (peer.net.rank() == 0) {
      co_await await_signal(peer.net, 1, 1);
      const Bytes data = pattern(64, 5);
      co_await peer.net.send(1, 2, data);
    } else {
      Bytes data(64);
      auto receiving = peer.net.recv(0, 2, data);
      const auto wait = [](Receiving& pending) -> Task<> { co_await pending; };
      auto limited = runtime::with_deadline(1us, "a short wait", wait(receiving));
      check_contains(co_await error_of<Timeout>(limited), "message 2");
      co_await signal(peer.net, 0, 1);
      co_await receiving;
      check(matches(data, 5), "the message is whole");
    }
  });
}

TEST_P(Conformance, AnOperationThatIsDestroyedEndsTheWaitForIt) {
  expect_good(1, [](Peer& peer) -> Task<> {
    Bytes data(64);
    std::optional<Receiving> receiving(std::in_place, peer.net, 0, 2, data);
    runtime::Event about_to_wait;
    const auto wait = [](Receiving& pending, runtime::Event& begun) -> Task<> {
      begun.set();
      co_await pending;
    };
    const auto destroy = [](std::optional<Receiving>& pending, runtime::Event& begun) -> Task<> {
      co_await begun;
      pending.reset();
    };
    auto both = runtime::when_all(wait(*receiving, about_to_wait), destroy(receiving, about_to_wait));
    check_contains(co_await error_of<Error>(both), "destroyed");
  });
}

}  // namespace
}  // namespace starling::transport
