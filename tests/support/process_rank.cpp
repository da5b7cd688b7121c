#include "tests/support/process_rank.h"

#include <signal.h>

#include "starling/core/error.h"
#include "starling/runtime/run.h"

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

}  // namespace

runtime::Task<std::string> live(const World::Body& body, Peer& self) {
  std::string outcome = co_await outcome_of(body, self);
  if (outcome == "killed") co_return outcome;
  self.net.set_patience(kForever);
  co_await part(self.net);
  co_return outcome;
}

void live_as_process(transport::Transport& net, const World::Body& body) {
  Process self(net);
  const std::string outcome = runtime::run(net.scheduler(), live(body, self), concat("rank ", net.rank()));
  if (!outcome.empty()) throw Error(outcome);
}

std::vector<std::string> outcomes_of(launch::ForkedRanks& processes) {
  std::vector<std::string> outcomes;
  for (const launch::Outcome& outcome : processes.wait()) {
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
