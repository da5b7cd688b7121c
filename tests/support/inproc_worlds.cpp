#include "tests/support/inproc_worlds.h"

#include <chrono>
#include <deque>
#include <thread>

#include "starling/core/text.h"
#include "starling/runtime/run.h"
#include "starling/runtime/scope.h"
#include "starling/transport/inproc.h"

namespace starling::testing {

using runtime::LoopScheduler;
using runtime::Scope;
using runtime::Task;
using runtime::VirtualScheduler;
using transport::InprocWorld;

namespace {

// When the body is over all its frames are gone, so a killed rank has withdrawn what it had not sent.
Task<> run_rank(InprocWorld& world, Rank rank, const World::Body& body, std::string& outcome) {
  Peer peer(world.at(rank));
  outcome = co_await outcome_of(body, peer);
  if (outcome == "killed") world.lose(rank, "killed");
}

Task<> run_ranks(InprocWorld& world, const World::Body& body, std::vector<std::string>& outcomes) {
  Scope scope(co_await runtime::this_context());
  for (Rank rank = 0; rank < world.size(); ++rank) {
    scope.spawn(run_rank(world, rank, body, outcomes[static_cast<std::size_t>(rank)]), concat("rank ", rank));
  }
  co_await scope.join();
}

}  // namespace

std::vector<std::string> VirtualWorld::run(int ranks, const Body& body) {
  auto scheduler = seed_ ? std::make_unique<VirtualScheduler>(*seed_) : std::make_unique<VirtualScheduler>();
  transport::AlphaBeta network({std::chrono::microseconds(2), 1e-10});
  InprocWorld world(*scheduler, ranks, network);
  std::vector<std::string> outcomes(static_cast<std::size_t>(ranks));
  runtime::run(*scheduler, run_ranks(world, body, outcomes));
  return outcomes;
}

std::vector<std::string> LoopWorld::run(int ranks, const Body& body) {
  std::deque<LoopScheduler> loops(static_cast<std::size_t>(ranks));
  std::vector<LoopScheduler*> pointers;
  for (auto& loop : loops) pointers.push_back(&loop);
  InprocWorld world(pointers);
  std::vector<std::string> outcomes(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      runtime::run(*pointers[static_cast<std::size_t>(rank)],
                   run_rank(world, rank, body, outcomes[static_cast<std::size_t>(rank)]),
                   concat("rank ", rank));
    });
  }
  for (auto& thread : threads) thread.join();
  return outcomes;
}

}  // namespace starling::testing
