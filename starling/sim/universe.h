// The simulated world: scheduler, network, workers, services, and the faults that happen to them.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "starling/membership/membership.h"
#include "starling/record/record_fold.h"
#include "starling/runtime/scope.h"
#include "starling/runtime/virtual_scheduler.h"
#include "starling/sim/blueprint.h"
#include "starling/sim/host_network.h"
#include "starling/sim/reachability.h"
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

  void make_views();
  void start();
  // Workers that would join after the end are not waited for.
  bool over() const { return error_ || running_ == 0 || (scoreboard_.stop() && running_ == absent_); }
  runtime::Task<> work(SimWorker& worker);
  runtime::Task<> serve();
  runtime::Task<> go_on(runtime::Task<> task);
  runtime::Task<> take_part(Rank rank);
  runtime::Task<> tell_views(Rank rank);
  runtime::Task<> suffer(cluster::Fault fault);
  runtime::Task<> slow_link(cluster::Fault fault);
  runtime::Task<> cut_off(cluster::Fault fault);
  runtime::Task<> stop(cluster::Fault fault);
  bool is_watched(Rank rank) const;
  void kill(Rank rank, const std::string& why);
  void end(Rank rank, const std::string& why, const std::string& told);
  void end_all_that_wait();

  Scoreboard::Models models_that_count() const;
  record::RunRecord result();
  transport::Traffic traffic_of(Rank rank);
  record::RankRecord record_of(Rank rank);
  void hand_over_spans();

  const Simulation& simulation_;
  std::unique_ptr<strategy::Strategy> strategy_;
  bool lockstep_;
  runtime::VirtualScheduler scheduler_;
  Blueprint blueprint_;
  HostNetwork network_;
  transport::InprocWorld world_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::vector<std::unique_ptr<membership::Membership>> views_;  // by worker; none where nobody can be lost
  std::unique_ptr<strategy::WithRunInfo<strategy::Member>> service_;
  std::vector<std::span<const float>> models_;
  std::vector<State> states_;
  Scoreboard scoreboard_;
  record::RecordFold fold_;
  std::size_t part_size_;  // spans

  int running_ = 0;
  int absent_ = 0;                // of these: not joined yet
  std::uint64_t most_steps_ = 0;  // begun by a worker
  std::uint64_t last_step_;       // no worker begins a later one
  std::exception_ptr error_;      // of a strategy, not of its world

  std::vector<double> link_factors_;  // by host: the present divisor of its bandwidth

  // Last, so that tasks are destroyed before what they use.
  runtime::Scope faults_;
  Reachability reach_;
  std::deque<runtime::Scope> memberships_;  // by worker
  std::deque<runtime::Scope> scopes_;       // by rank
};

}  // namespace starling::sim
