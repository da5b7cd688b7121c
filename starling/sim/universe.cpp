#include "starling/sim/universe.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"

namespace starling::sim {

using runtime::Task;
using strategy::floats;
using FaultKind = cluster::Fault::Kind;

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
      fold_(simulation.record, states_.size()),
      part_size_(record::part_size(record::span_limit(simulation.record, states_.size()))),
      last_step_(simulation.steps),
      link_factors_(simulation.cluster.hosts.size(), 1),
      faults_(scheduler_),
      reach_(world_, blueprint_.place.host_of_rank, simulation.silence_limit, faults_) {
  blueprint_.equal_batches = strategy_->equal_batches();
  const auto hosts = std::make_shared<const std::vector<int>>(blueprint_.place.host_of_rank);
  for (Rank rank = 0; rank < world_.size(); ++rank) world_.at(rank).set_hosts(hosts);
  const bool keeps_spans = simulation.record.mode != record::RecordMode::kOff;
  const Random base(simulation.seed);
  for (Rank rank = 0; rank < blueprint_.place.workers; ++rank) {
    const auto stream = static_cast<std::uint64_t>(rank);
    const SimWorker::Streams streams{base.fork(kStrategy).fork(stream), base.fork(kJitter).fork(stream),
                                     base.fork(kData).fork(stream)};
    workers_.push_back(
        std::make_unique<SimWorker>(blueprint_, *this, world_.at(rank), simulation.cluster, streams));
    workers_.back()->journal().keeps_spans = keeps_spans;
    models_.emplace_back(floats(workers_.back()->parameters()));
    if (simulation.spread > 0) disturb(*workers_.back(), simulation.spread, base.fork(kSpread).fork(stream));
  }
  if (strategy_->service() != strategy::Placement::kNone) {
    service_ = std::make_unique<strategy::WithRunInfo<strategy::Member>>(
        blueprint_.place, world_.at(blueprint_.place.server),
        base.fork(kStrategy).fork(static_cast<std::uint64_t>(blueprint_.place.workers)));
    service_->journal().keeps_spans = keeps_spans;
  }
  for (std::size_t rank = 0; rank < states_.size(); ++rank) scopes_.emplace_back(scheduler_);
  make_views();
}

// Where nobody can be lost there is nothing to agree on.
void Universe::make_views() {
  const auto loses = [](const cluster::Fault& fault) {
    return fault.kind == FaultKind::kKill || fault.kind == FaultKind::kStop || fault.kind == FaultKind::kCut;
  };
  if (simulation_.end_on_loss || !std::ranges::any_of(simulation_.cluster.faults, loses)) return;
  const membership::Membership::Options options{.patience = simulation_.majority_patience};
  for (const auto& worker : workers_) {
    views_.push_back(
        std::make_unique<membership::Membership>(worker->net(), blueprint_.place.workers, options));
    worker->take_part_in(*views_.back());
    memberships_.emplace_back(scheduler_);
    memberships_.back().spawn(take_part(worker->rank()), "membership");
    if (simulation_.observer != nullptr) memberships_.back().spawn(tell_views(worker->rank()), "views");
  }
}

// A worker that is no longer a member, or one of too few, ends.
Task<> Universe::take_part(Rank rank) {
  std::string why;
  try {
    co_await views_[static_cast<std::size_t>(rank)]->run();
  } catch (const Error& error) {
    why = error.what();
  }
  scopes_[static_cast<std::size_t>(rank)].cancel();
  const std::string told = "it left the run";
  end(rank, why, told);
  world_.lose(rank, told);
}

Task<> Universe::tell_views(Rank rank) {
  membership::Membership& membership = *views_[static_cast<std::size_t>(rank)];
  for (;;) {
    co_await membership.changes();
    simulation_.observer->view_changes(rank, membership.view());
  }
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
    const bool only_computing =
        fault.kind == FaultKind::kSlow || fault.kind == FaultKind::kPause;  // is in the pace
    if (!only_computing) faults_.spawn(suffer(fault), "fault");
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
  const auto index = static_cast<std::size_t>(worker.rank());
  if (!why.empty() && index < memberships_.size()) memberships_[index].cancel();
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
  if (fault.kind == FaultKind::kKill) {
    kill(fault.subject, concat("killed at ", format_duration(scheduler_.now().time_since_epoch())));
  } else if (fault.kind == FaultKind::kLink) {
    co_await slow_link(fault);
  } else if (fault.kind == FaultKind::kCut) {
    co_await cut_off(fault);
  } else {
    co_await stop(fault);
  }
}

Task<> Universe::slow_link(cluster::Fault fault) {
  double& factor = link_factors_.at(static_cast<std::size_t>(fault.subject));
  network_.set_outside(scheduler_, fault.subject, factor *= fault.factor);
  if (fault.to >= Time(kForever)) co_return;
  co_await runtime::sleep_until(fault.to);
  network_.set_outside(scheduler_, fault.subject, factor /= fault.factor);
}

Task<> Universe::cut_off(cluster::Fault fault) {
  reach_.cut(fault.subject);
  if (fault.to >= Time(kForever)) co_return;
  co_await runtime::sleep_until(fault.to);
  reach_.heal(fault.subject);
}

Task<> Universe::stop(cluster::Fault fault) {
  const Rank rank = fault.subject;
  reach_.stop(rank);
  const Time last = std::min(fault.to, fault.from + simulation_.stall_limit + simulation_.majority_patience);
  for (Time limit = fault.from + simulation_.stall_limit; limit < last; limit += simulation_.stall_limit) {
    co_await runtime::sleep_until(limit);
    if (!is_watched(rank)) continue;
    kill(rank, concat("it stood still for ", format_duration(simulation_.stall_limit)));
    co_return;
  }
  if (fault.to >= Time(kForever)) {
    states_[static_cast<std::size_t>(rank)].stalled = true;
    co_return;
  }
  co_await runtime::sleep_until(fault.to);
  reach_.go_on(rank);
}

// By another worker of its host, which would notice that it stands still. One that has made its steps
// notices, too.
bool Universe::is_watched(Rank rank) const {
  const std::vector<int>& hosts = blueprint_.place.host_of_rank;
  const int host = hosts[static_cast<std::size_t>(rank)];
  for (Rank other = 0; other < blueprint_.place.workers; ++other) {
    const auto index = static_cast<std::size_t>(other);
    if (other != rank && hosts[index] == host && states_[index].ended.empty() && !reach_.stopped(other)) {
      return true;
    }
  }
  return false;
}

// Even a worker that has made its steps is missed by the workers that it still answers.
void Universe::kill(Rank rank, const std::string& why) {
  const auto index = static_cast<std::size_t>(rank);
  if (index < memberships_.size()) memberships_[index].cancel();
  scopes_[index].cancel();
  end(rank, why, why);
  world_.lose(rank, why);
}

// An evaluation takes all models as they are when the last of the workers, on average, has got this far.
bool Universe::looks_at(const SimWorker& worker) const {
  if (simulation_.observer != nullptr && simulation_.observer->looks_at_models()) return true;
  return !simulation_.workload->ghost() && worker.step() % simulation_.evaluate_every == 0;
}

bool Universe::may_begin(SimWorker& worker) {
  const bool served_much = service_ && service_->journal().spans.size() >= part_size_;
  if (served_much || worker.journal().spans.size() >= part_size_) hand_over_spans();
  if (worker.step() > 0) {
    ++worker.journal().steps;
    if (scoreboard_.count_step()) scoreboard_.evaluate(scheduler_.now(), models_that_count());
  }
  const bool over = scoreboard_.stop() || scheduler_.now() >= simulation_.until;
  if (over) last_step_ = std::min(last_step_, lockstep_ ? most_steps_ : 0);
  if (worker.step() >= last_step_) return false;
  most_steps_ = std::max(most_steps_, worker.step() + 1);
  worker.journal().step_traffic.step_begins(traffic_of(worker.rank()).bytes);
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
  fold_.finish(run.ranks);
  run.record = simulation_.record.mode;
  return run;
}

// A round of the fold: nothing happens between the ranks' parts.
void Universe::hand_over_spans() {
  for (const auto& worker : workers_) fold_.add(worker->rank(), worker->journal().hand_over());
  if (service_) {
    const Rank rank = blueprint_.place.server;
    std::vector<record::Span> spans = service_->journal().hand_over();
    for (record::Span& span : spans) span = record::beside_worker(span, rank < blueprint_.place.workers);
    fold_.add(rank, spans);
  }
  fold_.close_round(scheduler_.now());
}

// Of the strategy, so far.
transport::Traffic Universe::traffic_of(Rank rank) {
  transport::Traffic sent = world_.at(rank).traffic();
  const auto index = static_cast<std::size_t>(rank);
  if (index >= views_.size()) return sent;
  sent.bytes -= views_[index]->traffic().bytes;
  sent.messages -= views_[index]->traffic().messages;
  return sent;
}

record::RankRecord Universe::record_of(Rank rank) {
  const auto index = static_cast<std::size_t>(rank);
  record::RankRecord record;
  record.rank = rank;
  record.host = blueprint_.place.host_of_rank[index];
  record.trains = rank < blueprint_.place.workers;
  record.bytes_sent = traffic_of(rank).bytes;
  record.messages_sent = traffic_of(rank).messages;
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
