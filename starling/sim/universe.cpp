#include "starling/sim/universe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"

namespace starling::sim {

using runtime::Task;
using strategy::floats;

namespace {

// Streams of random numbers of a run, so that what one part draws does not disturb another.
enum Stream : std::uint64_t { kEvents = 1, kModel, kStrategy, kJitter, kData, kSpread };

// Without times of its own a model's step is spread over its sections by size: a third forward, the rest
// backward.
StepTimes step_times(const Workload& workload, double seconds) {
  if (auto times = workload.times()) return *times;
  StepTimes times;
  const auto all = static_cast<double>(workload.parameters());
  for (const strategy::Section& section : workload.sections()) {
    const double share = seconds * static_cast<double>(section.count) / all;
    times.forward.push_back(share / 3);
    times.backward.push_back(share * 2 / 3);
  }
  return times;
}

Blueprint make_blueprint(const Simulation& simulation, strategy::Placement service) {
  Blueprint blueprint;
  const Workload& workload = *simulation.workload;
  blueprint.workers = static_cast<int>(simulation.cluster.workers.size());
  Group everyone(simulation.cluster.workers.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  blueprint.everyone = std::move(everyone);
  blueprint.server = service == strategy::Placement::kOwnRank ? blueprint.workers : 0;
  for (const WorkerSpec& worker : simulation.cluster.workers) {
    blueprint.host_of_rank.push_back(worker.host);
    blueprint.starts.push_back(worker.joins == Time{});
  }
  if (service == strategy::Placement::kOwnRank) {
    blueprint.host_of_rank.push_back(static_cast<int>(simulation.cluster.hosts.size()));
  }
  blueprint.workload = &workload;
  blueprint.optimizer = simulation.optimizer;
  blueprint.times = step_times(workload, simulation.step_seconds);
  if (!workload.ghost()) {
    blueprint.initial_model.resize(workload.parameters());
    Random random = Random(simulation.seed).fork(kModel);
    workload.initialize(blueprint.initial_model, random);
  }
  return blueprint;
}

std::vector<HostSpec> hosts_with_service(const Cluster& cluster, strategy::Placement service) {
  std::vector<HostSpec> hosts = cluster.hosts;
  if (service == strategy::Placement::kOwnRank)
    hosts.push_back({"service", cluster.network, cluster.network});
  return hosts;
}

std::unique_ptr<strategy::Strategy> make_strategy(const Simulation& simulation) {
  const strategy::Row& row = *simulation.strategy;
  const auto& workers = simulation.cluster.workers;
  for (std::size_t rank = 0; rank < workers.size(); ++rank) {
    if (workers[rank].joins == Time{} || row.promises.takes_joiners) continue;
    throw InvalidArgument(
        concat("worker ", rank, " joins later, which strategy ", row.name, " does not support"));
  }
  return row.make(strategy::Options::parse(row.options, row.name, simulation.options),
                  static_cast<int>(workers.size()));
}

void disturb(SimWorker& worker, double deviation, Random random) {
  if (worker.parameters().ghost()) return;
  for (float& value : floats(worker.parameters())) value += static_cast<float>(deviation * random.normal());
}

}  // namespace

Universe::Universe(const Simulation& simulation)
    : simulation_(simulation),
      strategy_(make_strategy(simulation)),
      lockstep_(simulation.strategy->promises.lockstep),
      workers_count_(static_cast<int>(simulation.cluster.workers.size())),
      scheduler_(Random(simulation.seed).fork(kEvents).next()),
      blueprint_(make_blueprint(simulation, strategy_->service())),
      network_(hosts_with_service(simulation.cluster, strategy_->service()), blueprint_.host_of_rank),
      world_(scheduler_, static_cast<int>(blueprint_.host_of_rank.size()), network_),
      states_(blueprint_.host_of_rank.size()),
      last_step_(simulation.steps),
      link_factors_(simulation.cluster.hosts.size(), 1),
      faults_(scheduler_) {
  const Random base(simulation.seed);
  for (Rank rank = 0; rank < workers_count_; ++rank) {
    const auto stream = static_cast<std::uint64_t>(rank);
    const SimWorker::Streams streams{base.fork(kStrategy).fork(stream), base.fork(kJitter).fork(stream),
                                     base.fork(kData).fork(stream)};
    workers_.push_back(
        std::make_unique<SimWorker>(blueprint_, *this, world_.at(rank), simulation.cluster, streams));
    models_.emplace_back(floats(workers_.back()->parameters()));
    if (simulation.spread > 0) disturb(*workers_.back(), simulation.spread, base.fork(kSpread).fork(stream));
  }
  if (strategy_->service() != strategy::Placement::kNone) {
    service_ = std::make_unique<SimMember<strategy::Member>>(
        blueprint_, world_.at(blueprint_.server),
        base.fork(kStrategy).fork(static_cast<std::uint64_t>(workers_count_)));
  }
  for (std::size_t rank = 0; rank < states_.size(); ++rank) scopes_.emplace_back(scheduler_);
}

void Universe::start() {
  if (service_) {
    scopes_[static_cast<std::size_t>(blueprint_.server)].spawn(serve(), "service");
  }
  for (auto& worker : workers_) {
    ++running_;
    states_[static_cast<std::size_t>(worker->rank())].running = true;
    scopes_[static_cast<std::size_t>(worker->rank())].spawn(work(*worker), concat("worker ", worker->rank()));
  }
  for (const Fault& fault : simulation_.cluster.faults) {
    if (fault.kind == Fault::Kind::kKill || fault.kind == Fault::Kind::kLink)
      faults_.spawn(suffer(fault), "fault");
  }
}

record::Run Universe::run() {
  start();
  scheduler_.drive([](void* self) { return static_cast<Universe*>(self)->over(); }, this);
  if (error_) std::rethrow_exception(error_);
  if (simulation_.observer != nullptr) simulation_.observer->ends(models_);
  return result();
}

Task<> Universe::work(SimWorker& worker) {
  co_await runtime::sleep_until(simulation_.cluster.workers[static_cast<std::size_t>(worker.rank())].joins);
  std::string why;
  try {
    co_await strategy_->run(worker);
  } catch (const PeerLost& lost) {
    why = lost.what();
  } catch (...) {
    error_ = std::current_exception();
  }
  end(worker.rank(), std::move(why));
}

Task<> Universe::serve() {
  try {
    co_await strategy_->serve(*service_);
  } catch (...) {
    error_ = std::current_exception();
  }
}

// A worker that gave up is gone for the others, as a process that exits with an error is.
void Universe::end(Rank rank, std::string why) {
  State& state = states_[static_cast<std::size_t>(rank)];
  if (!state.running) return;
  state.running = false;
  state.end = scheduler_.now();
  --running_;
  if (!why.empty()) world_.lose(rank, why);
  state.ended = std::move(why);
}

Task<> Universe::suffer(Fault fault) {
  co_await runtime::sleep_until(fault.from);
  if (fault.kind == Fault::Kind::kKill) {
    kill(fault.subject);
    co_return;
  }
  double& factor = link_factors_.at(static_cast<std::size_t>(fault.subject));
  network_.set_outside(scheduler_, fault.subject, factor *= fault.factor);
  if (fault.to >= Time(kForever)) co_return;
  co_await runtime::sleep_until(fault.to);
  network_.set_outside(scheduler_, fault.subject, factor /= fault.factor);
}

void Universe::kill(Rank rank) {
  scopes_[static_cast<std::size_t>(rank)].cancel();
  end(rank, concat("killed at ", format_duration(scheduler_.now().time_since_epoch())));
}

bool Universe::may_begin(SimWorker& worker) {
  if (worker.step() > 0) {
    ++worker.journal().steps;
    finish_step();
  }
  const bool over = stop_ || scheduler_.now() >= simulation_.until;
  if (over) last_step_ = std::min(last_step_, lockstep_ ? most_steps_ : 0);
  if (worker.step() >= last_step_) return false;
  most_steps_ = std::max(most_steps_, worker.step() + 1);
  if (simulation_.observer != nullptr) {
    simulation_.observer->step_begins(worker.rank(), worker.step() + 1, scheduler_.now(), models_);
  }
  return true;
}

void Universe::computed(SimWorker& worker) {
  if (simulation_.observer == nullptr) return;
  simulation_.observer->step_computed(worker.rank(), worker.step(), scheduler_.now());
}

void Universe::finish_step() {
  ++steps_done_;
  const std::uint64_t interval = simulation_.evaluate_every * static_cast<std::uint64_t>(workers_count_);
  if (steps_done_ % interval == 0 && !simulation_.workload->ghost()) evaluate();
}

void Universe::evaluate() {
  const Evaluation found = simulation_.workload->evaluate(mean_model());
  losses_.push_back({scheduler_.now(), steps_done_, found.loss, found.accuracy});
  if (simulation_.observer != nullptr) simulation_.observer->evaluated(losses_.back());
  const bool low = simulation_.target_loss && found.loss <= *simulation_.target_loss;
  const bool good =
      simulation_.target_accuracy && found.accuracy && *found.accuracy >= *simulation_.target_accuracy;
  if ((low || good) && !time_to_target_) {
    time_to_target_ = scheduler_.now().time_since_epoch();
    stop_ = simulation_.stop_at_target;
  }
}

std::vector<float> Universe::mean_model() const {
  std::vector<double> sum(simulation_.workload->parameters());
  double count = 0;
  for (std::size_t rank = 0; rank < models_.size(); ++rank) {
    if (!states_[rank].ended.empty()) continue;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(models_[rank][i]);
    ++count;
  }
  std::vector<float> mean(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) mean[i] = static_cast<float>(sum[i] / std::max(count, 1.0));
  return mean;
}

double Universe::consensus_distance(const std::vector<float>& mean) const {
  double sum = 0, count = 0;
  for (std::size_t rank = 0; rank < models_.size(); ++rank) {
    if (!states_[rank].ended.empty()) continue;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double difference = static_cast<double>(models_[rank][i]) - static_cast<double>(mean[i]);
      sum += difference * difference;
    }
    ++count;
  }
  return std::sqrt(sum / std::max(count, 1.0));
}

record::Run Universe::result() {
  record::Run run;
  run.strategy = simulation_.strategy->name;
  run.world = "simulated";
  run.has_target = simulation_.target_loss || simulation_.target_accuracy;
  run.time_to_target = time_to_target_;
  run.events = scheduler_.events();
  if (!simulation_.workload->ghost()) {
    const std::vector<float> mean = mean_model();
    const Evaluation last = simulation_.workload->evaluate(mean);
    run.final_train_loss = last.loss;
    run.final_accuracy = last.accuracy;
    run.consensus_distance = consensus_distance(mean);
  }
  run.losses = std::move(losses_);
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
  record.host = blueprint_.host_of_rank[index];
  record.trains = rank < workers_count_;
  record.bytes_sent = world_.at(rank).traffic().bytes;
  record.messages_sent = world_.at(rank).traffic().messages;
  record.end = record.trains ? states_[index].end : scheduler_.now();
  record.ended = states_[index].ended;
  if (record.trains) {
    record.begin = simulation_.cluster.workers[index].joins;
    record.journal = std::move(workers_[index]->journal());
  }
  if (service_ && rank == blueprint_.server) add_service(record);
  return record;
}

void Universe::add_service(record::RankRecord& record) {
  for (record::Span span : service_->journal().spans) {
    if (span.activity == record::Activity::kServe) span.background = record.trains;
    record.journal.spans.push_back(span);
  }
  record.journal.staleness.merge(service_->journal().staleness);
}

void check(const Simulation& simulation) { make_strategy(simulation); }

record::Run simulate(const Simulation& simulation) { return Universe(simulation).run(); }

}  // namespace starling::sim
