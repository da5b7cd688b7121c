// What processes that have joined a run do in tests.
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

// One that was free a moment ago.
inline int free_port() {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool bound = bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  close(descriptor);
  if (!bound) throw Error("no free port");
  return ntohs(address.sin_port);
}

// The sum of (1 + rank), over everybody.
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
