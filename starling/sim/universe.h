// The simulated world: scheduler, network, workers, services, and the faults that happen to them.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "starling/runtime/scope.h"
#include "starling/runtime/virtual_scheduler.h"
#include "starling/sim/blueprint.h"
#include "starling/sim/host_network.h"
#include "starling/sim/scoreboard.h"
#include "starling/sim/sim_worker.h"
#include "starling/sim/simulation.h"
#include "starling/transport/inproc.h"

namespace starling::sim {

class Universe final : public Conductor {
 public:
  explicit Universe(const Simulation& simulation);
  record::RunRecord run();

  bool looks_at(const SimWorker& worker) const override;
  bool may_begin(SimWorker& worker) override;
  void computed(SimWorker& worker) override;
  void stalled(SimWorker& worker) override;
  void beside(SimWorker& worker, runtime::Task<> task, std::string name) override;

 private:
  // The state and the end of a rank.
  struct State {
    bool running = false;
    bool present = false;  // its model counts: it was present at the start, or has begun a step
    bool stalled = false;
    Time end{};
    std::string ended;
  };

  void start();
  // Workers that would join after the end are not waited for.
  bool over() const { return error_ || running_ == 0 || (scoreboard_.stop() && running_ == absent_); }
  runtime::Task<> work(SimWorker& worker);
  runtime::Task<> serve();
  runtime::Task<> go_on(runtime::Task<> task);
  runtime::Task<> suffer(cluster::Fault fault);
  void kill(Rank rank);
  void end(Rank rank, const std::string& why, const std::string& told);
  void end_all_that_wait();

  Scoreboard::Models models_that_count() const;
  record::RunRecord result();
  record::RankRecord record_of(Rank rank);

  const Simulation& simulation_;
  std::unique_ptr<strategy::Strategy> strategy_;
  bool lockstep_;
  runtime::VirtualScheduler scheduler_;
  Blueprint blueprint_;
  HostNetwork network_;
  transport::InprocWorld world_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::unique_ptr<strategy::WithRunInfo<strategy::Member>> service_;
  std::vector<std::span<const float>> models_;
  std::vector<State> states_;
  Scoreboard scoreboard_;

  int running_ = 0;
  int absent_ = 0;                // of these: not joined yet
  std::uint64_t most_steps_ = 0;  // begun by a worker
  std::uint64_t last_step_;       // no worker begins a later one
  std::exception_ptr error_;      // of a strategy, not of its world

  std::vector<double> link_factors_;  // by host: the present divisor of its bandwidth

  runtime::Scope faults_;
  std::deque<runtime::Scope> scopes_;  // by rank; last, so that tasks are destroyed before what they use
};

}  // namespace starling::sim
