// Simulations done for real, on forked ranks, for the tests of the session.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "starling/core/error.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/session/service_rank.h"
#include "starling/session/session.h"
#include "starling/sim/blueprint.h"
#include "tests/support/simulations.h"

namespace starling::testing {

// Memory that the forked ranks write their results to.
class Board {
 public:
  explicit Board(std::size_t count) : count_(count) {
    void* const memory =
        mmap(nullptr, count * sizeof(float), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("mmap failed");
    values_ = static_cast<float*>(memory);
  }
  ~Board() { munmap(values_, count_ * sizeof(float)); }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  std::span<float> part(std::size_t index, std::size_t size) { return {values_ + index * size, size}; }

 private:
  std::size_t count_;
  float* values_ = nullptr;
};

// A simulation done for real.
struct Job {
  sim::Simulation simulation;
  std::unique_ptr<strategy::Strategy> strategy;
  int workers = 0;
  bool end_on_loss = false;

  explicit Job(sim::Simulation what) : simulation(std::move(what)) {
    strategy = sim::make_strategy(simulation);
    workers = static_cast<int>(simulation.cluster.workers.size());
  }
  int ranks() const { return workers + (strategy->service() == strategy::Placement::kOwnRank ? 1 : 0); }
  std::size_t elements() const { return simulation.workload->parameters(); }

  session::Session::Options setting() const {
    session::Session::Options setting;
    setting.workers = workers;
    setting.optimizer = simulation.optimizer;
    setting.sections = simulation.workload->sections();
    setting.steps = simulation.steps;
    setting.end_on_loss = end_on_loss;
    return setting;
  }
  std::vector<float> initial_model() const {
    std::vector<float> model(elements());
    Random random = Random(simulation.seed).fork(sim::kModel);
    simulation.workload->initialize(model, random);
    return model;
  }
  Random data(Rank rank) const {
    return Random(simulation.seed).fork(sim::kData).fork(static_cast<std::uint64_t>(rank));
  }
};

// A session of this rank on the job's strategy, from the job's initial model unless it is given another.
class JobSession {
 public:
  JobSession(const Job& job, transport::Transport& net, session::Session::Options setting,
             session::Callbacks callbacks = {}, std::vector<float> model = {})
      : job_(job),
        rank_(net.rank()),
        random(job.data(rank_)),
        session(static_cast<runtime::LoopScheduler&>(net.scheduler()), net, *job.strategy, std::move(setting),
                model.empty() ? job.initial_model() : std::move(model), std::move(callbacks)) {}

  void compute() {
    const sim::Workload& workload = *job_.simulation.workload;
    const double loss =
        workload.gradient(rank_, session.parameters(), session.gradients(), workload.batch(), random);
    session.computed({.samples = workload.batch(), .loss = loss});
  }

 private:
  const Job& job_;
  Rank rank_;

 public:
  Random random;  // where it is in the data
  session::Session session;
};

// Runs the body on the ranks that train and the service on the one behind them.
template <class Body>
std::vector<launch::Outcome> run_ranks(const Job& job, const session::Session::Options& setting,
                                       const Body& body) {
  launch::ForkedRanks ranks(job.ranks(), [&](transport::Transport& net) {
    if (net.rank() >= job.workers) return session::run_service(net, *job.strategy, setting);
    body(net);
  });
  return ranks.wait();
}

}  // namespace starling::testing
