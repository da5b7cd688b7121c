// Both ends of the rendezvous for tests: ranks that are threads, and connections that do as they like.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "starling/core/error.h"
#include "starling/join/rendezvous.h"
#include "starling/join/rendezvous_protocol.h"
#include "starling/join/rendezvous_server.h"
#include "starling/join/tcp_socket.h"

namespace starling::testing {

using join::Hello;
using join::kHeadBytes;
using join::Listener;
using join::RendezvousAddress;
using join::RendezvousServer;

// Longer than a test may last: whoever waits for so long hangs.
inline constexpr Duration kPatience = std::chrono::minutes(10);
inline const std::string kToken = "0123456789abcdef0123456789abcdef";

inline RendezvousServer::Options options_for(int ranks) {
  RendezvousServer::Options options;
  options.token = kToken;
  options.ranks = ranks;
  options.patience = kPatience;
  return options;
}

inline RendezvousAddress point_at(std::uint16_t port, const std::string& token = kToken) {
  return {.host = "127.0.0.1", .port = port, .token = token};
}

inline Hello hello_of(Rank rank, int ranks, const std::string& card = "card") {
  return {.rank = static_cast<std::uint32_t>(rank),
          .ranks = static_cast<std::uint32_t>(ranks),
          .patience_ms = UINT32_MAX,
          .token = kToken,
          .card = card};
}

// Ranks `first` to ranks-1 meet, each in a thread of its own.
class Crowd {
 public:
  Crowd(RendezvousAddress point, int ranks, std::function<std::string(Rank)> card, Rank first = 0)
      : point_(std::move(point)), card_(std::move(card)) {
    for (Rank rank = first; rank < ranks; ++rank) {
      ranks_.push_back(std::async(std::launch::async, [this, rank, ranks] {
        return join::meet(point_, rank, ranks, card_(rank), kPatience);
      }));
    }
  }
  // The cards that each has got; throws what one has thrown.
  std::vector<std::vector<std::string>> all() {
    std::vector<std::vector<std::string>> got;
    for (auto& rank : ranks_) got.push_back(rank.get());
    return got;
  }

 private:
  RendezvousAddress point_;
  std::function<std::string(Rank)> card_;
  std::vector<std::future<std::vector<std::string>>> ranks_;
};

inline void expect_meeting(const RendezvousAddress& point, int ranks,
                           const std::function<std::string(Rank)>& card) {
  std::vector<std::string> expected;
  for (Rank rank = 0; rank < ranks; ++rank) expected.push_back(card(rank));
  Crowd crowd(point, ranks, card);
  for (const auto& got : crowd.all()) EXPECT_EQ(got, expected);
}

inline void expect_meeting(const RendezvousAddress& point, int ranks) {
  expect_meeting(point, ranks, [](Rank rank) { return concat("the card of ", rank); });
}

// The server's own thread decides when that is.
inline void wait_for_missing(const RendezvousServer& server, const std::vector<Rank>& missing) {
  while (server.missing() != missing) std::this_thread::yield();
}

// A connection to a port of this host.
class Visitor {
 public:
  explicit Visitor(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw Error(concat("connect: ", std::strerror(errno)));
    }
  }
  // The other end of a connection.
  explicit Visitor(Descriptor socket) : socket_(std::move(socket)) {}

  // The peer may have closed in the middle.
  void say(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void finish_saying() { shutdown(socket_.get(), SHUT_WR); }
  std::string hear(std::size_t bytes) {
    std::string heard(bytes, '\0');
    const ssize_t got = recv(socket_.get(), heard.data(), bytes, MSG_WAITALL);
    heard.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return heard;
  }
  // Until the peer closes.
  std::string hear_all() {
    std::string all;
    for (std::string part = hear(4096); !part.empty(); part = hear(4096)) all += part;
    return all;
  }
  bool hears_welcome() { return hear(kHeadBytes) == join::welcome_message(); }
  // The connection is reset, which leaves nothing behind in the kernel.
  void break_off() {
    const linger at_once{1, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket_ = {};
  }

 private:
  Descriptor socket_;
};

// An address of this host that no other process of the tests uses: a port of it stays free when it is closed.
inline std::string own_host() {
  const auto pid = static_cast<unsigned>(getpid());
  return concat("127.", 64 + (pid >> 16) % 64, ".", (pid >> 8) % 256, ".", pid % 256);
}

inline Visitor next_visitor(const Listener& listener) {
  for (;;) {
    Descriptor socket = join::accept_next(listener.socket.get());
    if (socket.valid()) return Visitor(std::move(socket));
    std::this_thread::yield();
  }
}

}  // namespace starling::testing
