#include "starling/sim/universe.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"

namespace starling::sim {

using runtime::Task;
using strategy::floats;

namespace {

void disturb(SimWorker& worker, double deviation, Random random) {
  if (worker.parameters().ghost()) return;
  for (float& value : floats(worker.parameters())) value += static_cast<float>(deviation * random.normal());
}

}  // namespace

Universe::Universe(const Simulation& simulation)
    : simulation_(simulation),
      strategy_(make_strategy(simulation)),
      lockstep_(strategy_->lockstep()),
      scheduler_(Random(simulation.seed).fork(kEvents).next()),
      blueprint_(make_blueprint(simulation, strategy_->service())),
      network_(blueprint_.hosts, blueprint_.place.host_of_rank),
      world_(scheduler_, blueprint_.ranks(), network_),
      states_(blueprint_.place.host_of_rank.size()),
      scoreboard_(simulation),
      last_step_(simulation.steps),
      link_factors_(simulation.cluster.hosts.size(), 1),
      faults_(scheduler_) {
  const auto hosts = std::make_shared<const std::vector<int>>(blueprint_.place.host_of_rank);
  for (Rank rank = 0; rank < world_.size(); ++rank) world_.at(rank).set_hosts(hosts);
  const Random base(simulation.seed);
  for (Rank rank = 0; rank < blueprint_.place.workers; ++rank) {
    const auto stream = static_cast<std::uint64_t>(rank);
    const SimWorker::Streams streams{base.fork(kStrategy).fork(stream), base.fork(kJitter).fork(stream),
                                     base.fork(kData).fork(stream)};
    workers_.push_back(
        std::make_unique<SimWorker>(blueprint_, *this, world_.at(rank), simulation.cluster, streams));
    models_.emplace_back(floats(workers_.back()->parameters()));
    if (simulation.spread > 0) disturb(*workers_.back(), simulation.spread, base.fork(kSpread).fork(stream));
  }
  if (strategy_->service() != strategy::Placement::kNone) {
    service_ = std::make_unique<strategy::WithRunInfo<strategy::Member>>(
        blueprint_.place, world_.at(blueprint_.place.server),
        base.fork(kStrategy).fork(static_cast<std::uint64_t>(blueprint_.place.workers)));
  }
  for (std::size_t rank = 0; rank < states_.size(); ++rank) scopes_.emplace_back(scheduler_);
}

void Universe::start() {
  if (service_) {
    scopes_[static_cast<std::size_t>(blueprint_.place.server)].spawn(serve(), "service");
  }
  for (auto& worker : workers_) {
    const auto rank = static_cast<std::size_t>(worker->rank());
    states_[rank].present = blueprint_.place.starts[rank];
    if (simulation_.cluster.workers[rank].joins >= simulation_.until) continue;
    ++running_;
    absent_ += states_[rank].present ? 0 : 1;
    states_[rank].running = true;
    scopes_[rank].spawn(work(*worker), concat("worker ", rank));
  }
  for (const cluster::Fault& fault : simulation_.cluster.faults) {
    if (fault.kind == cluster::Fault::Kind::kKill || fault.kind == cluster::Fault::Kind::kLink)
      faults_.spawn(suffer(fault), "fault");
  }
}

record::RunRecord Universe::run() {
  start();
  try {
    scheduler_.drive([](void* self) { return static_cast<Universe*>(self)->over(); }, this);
  } catch (const Deadlock&) {
    const auto holds_up = [](const State& state) { return state.stalled && state.running; };
    if (std::none_of(states_.begin(), states_.end(), holds_up)) throw;
    end_all_that_wait();
  }
  if (error_) std::rethrow_exception(error_);
  if (simulation_.observer != nullptr) simulation_.observer->ends(models_);
  return result();
}

Task<> Universe::work(SimWorker& worker) {
  const Time joins = simulation_.cluster.workers[static_cast<std::size_t>(worker.rank())].joins;
  co_await runtime::sleep_until(joins);
  if (joins > Time{}) --absent_;
  std::string why;
  try {
    co_await strategy_->run(worker);
  } catch (const PeerLost& lost) {
    why = lost.what();
  } catch (...) {
    error_ = std::current_exception();
  }
  end(worker.rank(), why, concat("it ended: ", why));
}

Task<> Universe::serve() { return go_on(strategy_->serve(*service_)); }

Task<> Universe::go_on(Task<> task) {
  try {
    co_await task;
  } catch (...) {
    error_ = std::current_exception();
  }
}

void Universe::beside(SimWorker& worker, Task<> task, std::string name) {
  scopes_[static_cast<std::size_t>(worker.rank())].spawn(go_on(std::move(task)), std::move(name));
}

// A worker that gave up is lost to the others, as a process that exits with an error is; they are informed.
void Universe::end(Rank rank, const std::string& why, const std::string& told) {
  State& state = states_[static_cast<std::size_t>(rank)];
  if (!state.running) return;
  state.running = false;
  state.end = scheduler_.now();
  --running_;
  if (!why.empty()) world_.lose(rank, told);
  state.ended = why;
}

// Nothing can happen any more, because of a step that never ends.
void Universe::end_all_that_wait() {
  for (const auto& worker : workers_) {
    const auto rank = static_cast<std::size_t>(worker->rank());
    scopes_[rank].cancel();
    const std::string why =
        states_[rank].stalled ? concat("its step ", worker->step(), " never ends") : "waits for ever";
    end(worker->rank(), why, why);
  }
}

Task<> Universe::suffer(cluster::Fault fault) {
  co_await runtime::sleep_until(fault.from);
  if (fault.kind == cluster::Fault::Kind::kKill) {
    kill(fault.subject);
    co_return;
  }
  double& factor = link_factors_.at(static_cast<std::size_t>(fault.subject));
  network_.set_outside(scheduler_, fault.subject, factor *= fault.factor);
  if (fault.to >= Time(kForever)) co_return;
  co_await runtime::sleep_until(fault.to);
  network_.set_outside(scheduler_, fault.subject, factor /= fault.factor);
}

// Even a worker that has made its steps is missed by the workers that it still answers.
void Universe::kill(Rank rank) {
  scopes_[static_cast<std::size_t>(rank)].cancel();
  const std::string why = concat("killed at ", format_duration(scheduler_.now().time_since_epoch()));
  end(rank, why, why);
  world_.lose(rank, why);
}

// An evaluation takes all models as they are when the last of the workers, on average, has got this far.
bool Universe::looks_at(const SimWorker& worker) const {
  if (simulation_.observer != nullptr && simulation_.observer->looks_at_models()) return true;
  return !simulation_.workload->ghost() && worker.step() % simulation_.evaluate_every == 0;
}

bool Universe::may_begin(SimWorker& worker) {
  if (worker.step() > 0) {
    ++worker.journal().steps;
    if (scoreboard_.count_step()) scoreboard_.evaluate(scheduler_.now(), models_that_count());
  }
  const bool over = scoreboard_.stop() || scheduler_.now() >= simulation_.until;
  if (over) last_step_ = std::min(last_step_, lockstep_ ? most_steps_ : 0);
  if (worker.step() >= last_step_) return false;
  most_steps_ = std::max(most_steps_, worker.step() + 1);
  states_[static_cast<std::size_t>(worker.rank())].present = true;
  if (simulation_.observer != nullptr) {
    simulation_.observer->step_begins(worker.rank(), worker.step() + 1, scheduler_.now(), models_);
  }
  return true;
}

void Universe::computed(SimWorker& worker) {
  if (simulation_.observer == nullptr) return;
  simulation_.observer->step_computed(worker.rank(), worker.step(), scheduler_.now());
}

void Universe::stalled(SimWorker& worker) { states_[static_cast<std::size_t>(worker.rank())].stalled = true; }

// The models of all workers that are present and did not end early; if none is left, of all that were
// present.
Scoreboard::Models Universe::models_that_count() const {
  Scoreboard::Models well, all;
  for (std::size_t rank = 0; rank < models_.size(); ++rank) {
    if (!states_[rank].present) continue;
    all.push_back(models_[rank]);
    if (states_[rank].ended.empty()) well.push_back(models_[rank]);
  }
  return well.empty() ? all : well;
}

record::RunRecord Universe::result() {
  record::RunRecord run;
  run.strategy = simulation_.strategy->name;
  run.world = "simulated";
  run.events = scheduler_.events();
  scoreboard_.finish(models_that_count(), run);
  for (Rank rank = 0; rank < world_.size(); ++rank) {
    run.ranks.push_back(record_of(rank));
    run.duration = std::max(run.duration, run.ranks.back().end.time_since_epoch());
  }
  return run;
}

record::RankRecord Universe::record_of(Rank rank) {
  const auto index = static_cast<std::size_t>(rank);
  record::RankRecord record;
  record.rank = rank;
  record.host = blueprint_.place.host_of_rank[index];
  record.trains = rank < blueprint_.place.workers;
  record.bytes_sent = world_.at(rank).traffic().bytes;
  record.messages_sent = world_.at(rank).traffic().messages;
  record.end = record.trains ? states_[index].end : scheduler_.now();
  record.ended = states_[index].ended;
  if (record.trains) {
    record.begin = std::min(simulation_.cluster.workers[index].joins,
                            record.end);  // a worker that never joined has no time
    record.journal = std::move(workers_[index]->journal());
  }
  if (service_ && rank == blueprint_.place.server) record::add_service(record, service_->journal());
  return record;
}

record::RunRecord simulate(const Simulation& simulation) { return Universe(simulation).run(); }

}  // namespace starling::sim
