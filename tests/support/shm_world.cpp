#include "tests/support/shm_world.h"

#include "starling/launch/forked_ranks.h"
#include "tests/support/process_rank.h"

namespace starling::testing {

std::vector<std::string> ShmWorld::run(int ranks, const Body& body) {
  const auto rank = [&body](transport::Transport& net) { live_as_process(net, body); };
  launch::ForkedRanks processes(ranks, rank, link_);
  return outcomes_of(processes);
}

}  // namespace starling::testing
