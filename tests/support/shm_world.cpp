#include "tests/support/shm_world.h"

#include <signal.h>

#include "starling/core/error.h"
#include "starling/runtime/run.h"
#include "starling/session/forked_ranks.h"

namespace starling::testing {

namespace {

class Process final : public Peer {
 public:
  using Peer::Peer;
  [[noreturn]] void die() override {
    raise(SIGKILL);
    abort();
  }
};

// A process that ends is lost to the others. So nobody goes before all are done, or dead.
runtime::Task<> part(transport::Transport& net) {
  constexpr Tag kPart = ~Tag{0};
  for (Rank other = 0; other < net.size(); ++other) {
    try {
      co_await net.send(other, kPart, {});
    } catch (const PeerLost&) {
    }
  }
  for (Rank other = 0; other < net.size(); ++other) {
    try {
      co_await net.recv(other, kPart, {});
    } catch (const PeerLost&) {
    }
  }
}

runtime::Task<std::string> live(const World::Body& body, Process& self) {
  std::string outcome = co_await outcome_of(body, self);
  self.net.set_patience(kForever);
  co_await part(self.net);
  co_return outcome;
}

}  // namespace

std::vector<std::string> ShmWorld::run(int ranks, const Body& body) {
  const auto rank = [&body](transport::Transport& net) {
    Process self(net);
    const std::string outcome = runtime::run(net.scheduler(), live(body, self), concat("rank ", net.rank()));
    if (!outcome.empty()) throw Error(outcome);
  };
  session::ForkedRanks processes(ranks, rank, link_);
  std::vector<std::string> outcomes;
  for (const session::Outcome& outcome : processes.wait()) {
    if (outcome.signal == SIGKILL) {
      outcomes.push_back("killed");
    } else if (outcome.signal != 0 || (outcome.exit_code != 0 && outcome.error.empty())) {
      outcomes.push_back(concat("ended by signal ", outcome.signal, ", exit code ", outcome.exit_code));
    } else {
      outcomes.push_back(outcome.error);
    }
  }
  return outcomes;
}

}  // namespace starling::testing
