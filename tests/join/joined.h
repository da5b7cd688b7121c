// The tasks of processes that have joined a run, for tests.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "starling/collective/collective.h"
#include "starling/core/error.h"
#include "starling/runtime/run.h"
#include "tests/support/check.h"
#include "tests/support/process_rank.h"

namespace starling::testing {

inline bool is_free(int port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool bound = bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(descriptor);
  return bound;
}

// One that was free a moment ago, none of those that the system gives out by itself, as it does to UCX, and
// hardly one that another test takes at the same time.
inline int free_port() {
  constexpr int kFirst = 20000, kPorts = 10000;
  static int next = getpid() * 37;
  for (int tries = 0; tries < kPorts; ++tries) {
    next = (next + 1) % kPorts;
    if (is_free(kFirst + next)) return kFirst + next;
  }
  throw Error("no free port");
}

// The sum of (1 + rank) over all ranks.
inline runtime::Task<> sum_up(Peer& self) {
  transport::Transport& net = self.net;
  Group everyone;
  for (Rank rank = 0; rank < net.size(); ++rank) everyone.push_back(rank);
  std::vector<float> values(100'000, static_cast<float>(1 + net.rank()));
  const collective::Data data{std::span<float>(values)};
  co_await collective::all_reduce(net, everyone, data, collective::Reduction::sum(), 1);
  const auto expected = static_cast<float>(net.size() * (net.size() + 1)) / 2;
  for (const float value : values) check_equal(value, expected, "the sum");
}

inline void check_sum(transport::Transport& net) {
  Peer self(net);
  check_equal(runtime::run(net.scheduler(), live(sum_up, self)), "", "how it went");
}

}  // namespace starling::testing
