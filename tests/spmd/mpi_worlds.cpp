// The conformance suite under MPI: every process of `mpirun` runs the same tests, each as one of the ranks.
// Dying means leaving here, because MPI ends the job when a process dies.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "starling/core/error.h"
#include "starling/runtime/run.h"
#include "starling/transport/shm/handover.h"
#include "starling/transport/shm/shm.h"
#include "starling/transport/wire/mpi.h"
#include "tests/support/process_rank.h"

namespace starling::testing {

namespace {

using transport::wire::MpiWorld;

constexpr Duration kPatience = std::chrono::seconds(30);

std::shared_ptr<MpiWorld>& mpi() {
  static std::shared_ptr<MpiWorld> world;  // MPI cannot be started twice in a process
  return world;
}

// The first `ranks` processes take part, dealt out to so many hosts in turn.
class SpmdWorld final : public World {
 public:
  explicit SpmdWorld(int hosts) : hosts_(hosts) {}

  std::vector<std::string> run(int ranks, const Body& body) override {
    if (ranks > mpi()->size()) throw Error(concat("start this by mpirun -n ", ranks, " or more"));
    auto engine = transport::wire::make_mpi(mpi());
    std::string outcome;
    if (mpi()->rank() < ranks) outcome = take_part(ranks, body, std::move(engine));
    auto outcomes = mpi()->exchange(outcome);
    outcomes.resize(static_cast<std::size_t>(ranks));
    return outcomes;
  }

 private:
  std::string take_part(int ranks, const Body& body, std::unique_ptr<transport::wire::Engine> engine) const {
    const Rank self = mpi()->rank();
    const int hosts = hosts_ == 0 ? ranks : std::min(hosts_, ranks);
    std::vector<Rank> members;
    transport::wire::Remote::Options others{.engine = std::move(engine), .peers = {}};
    for (Rank rank = 0; rank < ranks; ++rank)
      (rank % hosts == self % hosts ? members : others.peers).push_back(rank);
    others.engine->connect({}, others.peers);
    runtime::LoopScheduler loop;
    const std::string name = concat("starling-spmd-", getppid(), "-", self % hosts);
    const transport::shm::HostArena local(loop, name, members, self, kPatience);
    transport::ShmTransport net(loop, local.arena(), self, ranks, std::move(others));
    Peer peer(net);
    return runtime::run(loop, live(body, peer), concat("rank ", self));
  }

  int hosts_;
};

}  // namespace

std::vector<NamedWorld> all_worlds() {
  return {{"mpi", [] { return std::make_unique<SpmdWorld>(0); }},
          {"shm_mpi", [] { return std::make_unique<SpmdWorld>(2); }}};
}

}  // namespace starling::testing

int main(int count, char** words) {
  starling::testing::mpi() = std::make_shared<starling::transport::wire::MpiWorld>();
  ::testing::InitGoogleTest(&count, words);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (starling::testing::mpi()->rank() > 0) delete listeners.Release(listeners.default_result_printer());
  const int failed = RUN_ALL_TESTS();
  starling::testing::mpi().reset();
  return failed;
}
