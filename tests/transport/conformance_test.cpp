// The promises of every transport about messages: order, sizes, matching and withdrawal.
#include "tests/transport/conformance.h"

#include <algorithm>
#include <deque>
#include <optional>

namespace starling::transport {
namespace {

using namespace testing;
using runtime::Task;

TEST_P(Conformance, EveryRankKnowsItselfAndTheOthers) {
  expect_good(3, [](Peer& peer) -> Task<> {
    check_equal(peer.net.size(), 3, "the size");
    check(peer.net.rank() >= 0 && peer.net.rank() < 3, "the rank");
    check(!peer.net.name().empty(), "the name");
    for (Rank rank = 0; rank < 3; ++rank) check(!peer.net.lost(rank), "nobody is lost");
    co_return;
  });
}

TEST_P(Conformance, MessagesOfOneTagArriveInOrder) {
  expect_good(2, [](Peer& peer) -> Task<> {
    constexpr int kMessages = 60, kTags = 3;
    if (peer.net.rank() == 0) {
      std::deque<Bytes> data;
      std::deque<Sending> sends;
      for (int i = 0; i < kMessages; ++i) {
        data.push_back(pattern(3, static_cast<std::uint64_t>(i)));
        sends.emplace_back(peer.net, 1, static_cast<Tag>(i % kTags), data.back());
      }
      for (auto& send : sends) co_await send;
    } else {
      for (const int tag : {2, 0, 1}) {
        for (int i = tag; i < kMessages; i += kTags) {
          co_await expect_message(peer.net, 0, static_cast<Tag>(tag), 3, static_cast<std::uint64_t>(i));
        }
      }
    }
  });
}

TEST_P(Conformance, EmptyMessagesKeepTheirPlace) {
  expect_good(2, [](Peer& peer) -> Task<> {
    for (int i = 0; i < 20; ++i) {
      const std::size_t bytes = i % 2 == 0 ? 0 : 5;
      if (peer.net.rank() == 0) {
        const Bytes data = pattern(bytes, static_cast<std::uint64_t>(i));
        co_await peer.net.send(1, 4, data);
      } else {
        co_await expect_message(peer.net, 0, 4, bytes, static_cast<std::uint64_t>(i));
      }
    }
  });
}

TEST_P(Conformance, AReceiveMayBePostedFirst) {
  for (const std::size_t bytes : {std::size_t{5}, std::size_t{300'000}}) {
    expect_good(2, [bytes](Peer& peer) -> Task<> {
      if (peer.net.rank() == 0) {
        co_await await_signal(peer.net, 1, 1);
        const Bytes data = pattern(bytes, 3);
        co_await peer.net.send(1, 2, data);
      } else {
        Bytes buffer(bytes);
        auto receiving = peer.net.recv(0, 2, buffer);
        co_await signal(peer.net, 0, 1);
        co_await receiving;
        check(matches(buffer, 3), "the message");
      }
    });
  }
}

TEST_P(Conformance, AMessageMayComeFirst) {
  for (const std::size_t bytes : {std::size_t{5}, std::size_t{300'000}}) {
    expect_good(2, [bytes](Peer& peer) -> Task<> {
      if (peer.net.rank() == 0) {
        const Bytes data = pattern(bytes, 3);
        auto sending = peer.net.send(1, 2, data);
        co_await signal(peer.net, 1, 1);
        co_await sending;
      } else {
        co_await await_signal(peer.net, 0, 1);
        co_await expect_message(peer.net, 0, 2, bytes, 3);
      }
    });
  }
}

TEST_P(Conformance, CarriesAllSizesFromAndToAnyAddress) {
  expect_good(2, [](Peer& peer) -> Task<> {
    Tag tag = 0;
    for (const std::size_t bytes : {0, 1, 7, 4096, 65536, 1 << 20, (1 << 20) + 3}) {
      for (const std::size_t offset : {0, 1, 3}) {
        ++tag;
        const std::size_t other = offset == 0 ? 5 : 0;  // the two ends are aligned differently
        Bytes memory(bytes + 8, std::byte{0x5a});
        if (peer.net.rank() == 0) {
          const auto data = std::span(memory).subspan(offset, bytes);
          fill(data, tag);
          co_await peer.net.send(1, tag, data);
        } else {
          const auto data = std::span(memory).subspan(other, bytes);
          co_await peer.net.recv(0, tag, data);
          check(matches(data, tag), concat("content of ", bytes, " bytes"));
          const auto untouched = std::count(memory.begin(), memory.end(), std::byte{0x5a}) -
                                 std::count(data.begin(), data.end(), std::byte{0x5a});
          check_equal(untouched, 8, "the number of untouched bytes around the buffer");
        }
      }
    }
  });
}

TEST_P(Conformance, AReceiveOfAnotherSizeFailsAndTheNextOneWorks) {
  for (const std::size_t bytes : {std::size_t{12}, std::size_t{200'000}}) {
    expect_good(3, [bytes](Peer& peer) -> Task<> {
      const Bytes data = pattern(bytes, 1);
      if (peer.net.rank() == 1) {
        for (int i = 0; i < 3; ++i) co_await peer.net.send(2, 7, data);
      } else if (peer.net.rank() == 2) {
        for (const std::size_t wrong : {bytes - 1, bytes + 1}) {
          Bytes buffer(wrong, std::byte{9});
          auto receiving = peer.net.recv(1, 7, buffer);
          const std::string text = co_await error_of<InvalidArgument>(receiving);
          for (const std::string& part :
               {concat(bytes), concat(wrong), std::string("rank 1"), std::string("7")}) {
            check_contains(text, part);
          }
          check_equal(std::count(buffer.begin(), buffer.end(), std::byte{9}),
                      static_cast<std::ptrdiff_t>(wrong), "the number of untouched bytes");
        }
        co_await expect_message(peer.net, 1, 7, bytes, 1);
      }
    });
  }
}

TEST_P(Conformance, ManyOperationsMayBeInFlight) {
  expect_good(3, [](Peer& peer) -> Task<> {
    constexpr std::size_t kMessages = 500, kBytes = 40;
    Transport& net = peer.net;
    std::deque<Bytes> data;
    std::deque<Sending> sends;
    std::deque<Receiving> receives;
    std::deque<Bytes> buffers;
    for (Tag tag = 0; tag < kMessages; ++tag) {
      data.push_back(pattern(kBytes, tag + 1000 * static_cast<Tag>(net.rank())));
      for (Rank rank = 0; rank < net.size(); ++rank) {
        if (rank != net.rank()) sends.emplace_back(net, rank, tag, data.back());
      }
    }
    for (Tag tag = kMessages; tag-- > 0;) {
      for (Rank rank = 0; rank < net.size(); ++rank) {
        if (rank == net.rank()) continue;
        buffers.emplace_back(kBytes);
        receives.emplace_back(net, rank, tag, buffers.back());
      }
    }
    for (std::size_t i = 0; i < receives.size(); ++i) {
      Receiving& receiving = receives[i];
      co_await receiving;
      const auto seed = receiving.tag() + 1000 * static_cast<Tag>(receiving.peer());
      check(matches(buffers[i], seed), concat("message ", seed));
    }
    for (auto& send : sends) co_await send;
  });
}

TEST_P(Conformance, ARankMaySendToItself) {
  for (const int ranks : {1, 2}) {
    expect_good(ranks, [](Peer& peer) -> Task<> {
      Transport& net = peer.net;
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{3}, std::size_t{100'000}}) {
        const Bytes data = pattern(bytes, bytes);
        auto first = net.send(net.rank(), 1, data);
        co_await expect_message(net, net.rank(), 1, bytes, bytes);
        co_await first;
        Bytes buffer(bytes);
        auto receiving = net.recv(net.rank(), 2, buffer);
        co_await net.send(net.rank(), 2, data);
        co_await receiving;
        check(matches(buffer, bytes), "the message");
      }
    });
  }
}

TEST_P(Conformance, RecvAnyTakesLettersOfAllInTheOrderOfEach) {
  expect_good(4, [](Peer& peer) -> Task<> {
    constexpr int kLetters = 30;
    Transport& net = peer.net;
    if (net.rank() == 0) {
      std::vector<int> next(4, 0);
      for (int i = 0; i < 3 * kLetters; ++i) {
        const Letter letter = co_await net.recv_any(5);
        check(letter.from >= 1 && letter.from <= 3, "the sender");
        const int number = next[static_cast<std::size_t>(letter.from)]++;
        check_equal(letter.bytes.size(), static_cast<std::size_t>(number * letter.from),
                    "the size of a letter");
        check(matches(letter.bytes, static_cast<std::uint64_t>(number)), "the letter");
      }
      for (Rank from = 1; from <= 3; ++from) co_await expect_message(net, from, 6, 1, 99);
    } else {
      const Bytes other = pattern(1, 99);
      auto of_another_tag = net.send(0, 6, other);
      for (int i = 0; i < kLetters; ++i) {
        const Bytes data = pattern(static_cast<std::size_t>(i * net.rank()), static_cast<std::uint64_t>(i));
        co_await net.send(0, 5, data);
      }
      co_await of_another_tag;
    }
  });
}

TEST_P(Conformance, RecvAnyTakesABigLetter) {
  expect_good(2, [](Peer& peer) -> Task<> {
    constexpr std::size_t kBytes = 300'001;
    if (peer.net.rank() == 0) {
      const Bytes data = pattern(kBytes, 8);
      co_await peer.net.send(1, 1, data);
      co_await await_signal(peer.net, 1, 2);
      co_await peer.net.send(1, 1, data);
    } else {
      const Letter early = co_await peer.net.recv_any(1);
      auto receiving = peer.net.recv_any(1);
      co_await signal(peer.net, 0, 2);
      const Letter late = co_await receiving;
      for (const Letter* letter : {&early, &late}) {
        check_equal(letter->bytes.size(), kBytes, "the size");
        check(matches(letter->bytes, 8), "the letter");
      }
    }
  });
}

TEST_P(Conformance, TrafficCountsWhatWasSent) {
  expect_good(2, [](Peer& peer) -> Task<> {
    const Bytes data = pattern(100, 1);
    const Traffic before = peer.net.traffic();  // those of other hosts have greeted each other
    if (peer.net.rank() == 0) {
      for (int i = 0; i < 3; ++i) co_await peer.net.send(1, 1, data);
      co_await peer.net.send(1, 1, {});
      check_equal(peer.net.traffic().messages - before.messages, 4u, "the number of messages");
      check_equal(peer.net.traffic().bytes - before.bytes, 300u, "the number of bytes");
    } else {
      for (int i = 0; i < 3; ++i) co_await expect_message(peer.net, 0, 1, 100, 1);
      co_await await_signal(peer.net, 0, 1);
      check_equal(peer.net.traffic().messages - before.messages, 0u, "the number of messages");
    }
  });
}

TEST_P(Conformance, ItsMemoryCanBeSentFromAndOutlivesItsFirstOwner) {
  expect_good(2, [](Peer& peer) -> Task<> {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{100'000}}) {
      if (peer.net.rank() == 0) {
        std::optional<Memory> memory = peer.net.allocate(bytes);
        check_equal(memory->bytes.size(), bytes, "the size");
        check_equal(reinterpret_cast<std::uintptr_t>(memory->bytes.data()) % 64, 0u, "the alignment");
        fill(memory->bytes, 4);
        const Memory copy = *memory;
        memory.reset();
        co_await peer.net.send(1, 1, copy.bytes);
      } else {
        co_await expect_message(peer.net, 0, 1, bytes, 4);
      }
    }
  });
}

TEST_P(Conformance, ARankThatDoesNotExistIsRefused) {
  expect_good(2, [](Peer& peer) -> Task<> {
    for (const Rank rank : {-7, -1, 2, 1000}) {
      std::string of_send = "accepted", of_recv = "accepted";
      try {
        co_await peer.net.send(rank, 1, {});
      } catch (const InvalidArgument& error) {
        of_send = error.what();
      }
      try {
        co_await peer.net.recv(rank, 1, {});
      } catch (const InvalidArgument& error) {
        of_recv = error.what();
      }
      check_contains(of_send, concat("rank ", rank));
      check_contains(of_recv, concat("rank ", rank));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, Conformance, ::testing::ValuesIn(testing::all_worlds()), name_of);

}  // namespace
}  // namespace starling::transport
