#include "starling/sim/sim_worker.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "starling/core/error.h"
#include "starling/core/partition.h"
#include "starling/runtime/deadline.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::sim {

using runtime::Task;
using strategy::floats;
using strategy::StepListener;
using strategy::StepPlan;
using Kind = record::Detail::Kind;

namespace {

bool by_section(const StepPlan& plan) { return plan.listener != nullptr && plan.listener->by_section(); }

cluster::JitterFactors jitter_of(const cluster::WorkerSpec& worker, const Random& random) {
  return {worker.jitter, worker.jitter_span, random};
}

}  // namespace

SimWorker::SimWorker(const Blueprint& blueprint, Conductor& conductor, transport::Transport& net,
                     const cluster::Cluster& cluster, const Streams& streams)
    : WithRunInfo(blueprint.place, net, streams.strategy),
      blueprint_(blueprint),
      conductor_(conductor),
      pace_(cluster, net.rank()),
      jitter_(jitter_of(cluster.workers[static_cast<std::size_t>(net.rank())], streams.jitter)),
      data_random_(streams.data),
      parameters_(initial_model()),
      gradients_(allocate(parameters_.data.count)),
      optimizer_(make_optimizer(parameters_.data.count)),
      check_(*this, blueprint.place.nonfinite) {}

Task<bool> SimWorker::compute(const StepPlan& plan) {
  if (plan.listener != nullptr && conductor_.looks_at(*this)) co_await plan.listener->settle();
  if (!conductor_.may_begin(*this)) co_return false;
  ++step_;
  samples_ = 0;
  pieces_ = 0;
  loss_ = 0;
  check_.step_begins();
  if (plan.listener != nullptr) plan.listener->begins();
  while (!plan.ends_after(pieces_)) {
    const int together = plan.next_pass(pieces_);
    const bool completed = co_await run_pieces(plan, together);
    if (!completed) break;
    pieces_ += together;
  }
  if (pieces_ == 0 && !gradients_.data.ghost()) std::ranges::fill(floats(gradients_.data), 0.0F);
  for (std::size_t i = sections().size(); plan.pieces > 1 && by_section(plan) && i-- > 0;) {
    pass_on(*plan.listener, i);
  }
  if (!by_section(plan)) check_.look_at(gradients_.data);
  finish_step();
  conductor_.computed(*this);
  co_return true;
}

void SimWorker::finish_step() {
  loss_ = samples_ > 0 ? loss_ / static_cast<double>(samples_) : std::numeric_limits<double>::quiet_NaN();
  journal().samples += samples_;
  if (const std::string why = check_.step_ends(step_); !why.empty()) throw Error(why);
  if (!check_.skipped()) return;
  samples_ = 0;
  loss_ = std::numeric_limits<double>::quiet_NaN();
}

// Works for the time that a worker of speed 1 needs for so many seconds.
Task<bool> SimWorker::pass_time(double seconds, runtime::Event* end) {
  const Time finish = pace_.finish(now(), seconds);
  if (end != nullptr) {
    const bool ended = co_await end->until(finish);
    co_return !ended;
  }
  if (finish >= Time(kForever)) {
    conductor_.stalled(*this);
    co_await never_;
  }
  co_await runtime::sleep_until(finish);
  co_return true;
}

std::size_t SimWorker::batch_of(const StepPlan& plan) const {
  const std::size_t batch = blueprint_.workload->batch();
  return plan.portion ? plan.portion->of(batch * static_cast<std::size_t>(workers())).size() : batch;
}

// The gradient is computed between the passes: then all sections have been let through, and listeners may use
// a section's gradient as soon as its time has come.
Task<bool> SimWorker::run_pieces(const StepPlan& plan, int together) {
  const auto piece = [&](int number) {
    return slice_of(batch_of(plan), static_cast<std::size_t>(plan.pieces), static_cast<std::size_t>(number));
  };
  const std::size_t samples = piece(pieces_ + together - 1).end - piece(pieces_).begin;
  const double jitter = jitter_.of_piece(step_), overhead = blueprint_.pass_seconds * jitter;
  const double factor =
      jitter * static_cast<double>(samples) / static_cast<double>(blueprint_.workload->batch());
  if (!by_section(plan)) {
    const strategy::Stopwatch watch(*this, record::Activity::kCompute);
    const bool passed = co_await pass_time(overhead + blueprint_.times.total() * factor, plan.drop);
    if (passed) add_gradient(samples);
    co_return passed;
  }
  if (overhead > 0) {
    const strategy::Stopwatch watch(*this, record::Activity::kCompute);
    co_await pass_time(overhead);
  }
  co_await pass_forward(*plan.listener, factor);
  add_gradient(samples);
  co_await pass_backward(plan, factor);
  co_return true;
}

Task<> SimWorker::pass_forward(StepListener& listener, double factor) {
  const std::vector<double>& times = blueprint_.times.forward;
  for (std::size_t section = 0; section < times.size(); ++section) {
    co_await listener.before_forward(section);
    co_await pass_section(listener, Kind::kForward, section, times[section] * factor);
  }
  spans_.close();
}

// A piece's gradient has to be combined with those of the others first.
Task<> SimWorker::pass_backward(const StepPlan& plan, double factor) {
  const std::vector<double>& times = blueprint_.times.backward;
  for (std::size_t section = times.size(); section-- > 0;) {
    co_await pass_section(*plan.listener, Kind::kBackward, section, times[section] * factor);
    if (plan.pieces == 1) pass_on(*plan.listener, section);
  }
  spans_.close();
}

Task<> SimWorker::pass_section(const StepListener& listener, Kind kind, std::size_t section, double seconds) {
  const Time begin = now();
  co_await pass_time(seconds);
  const auto number = static_cast<std::uint32_t>(section);
  spans_.note({kind, static_cast<std::uint32_t>(step_), number, number + 1}, listener, begin);
}

void SimWorker::pass_on(StepListener& listener, std::size_t section) {
  const strategy::Section& place = sections()[section];
  check_.look_at(gradients_.data.part(place.offset, place.offset + place.count));
  listener.gradient_ready(section);
}

// The gradient becomes the mean over the samples so far.
void SimWorker::add_gradient(std::size_t samples) {
  if (samples == 0) return;  // more pieces than samples
  if (blueprint_.workload->ghost()) {
    loss_ = std::numeric_limits<double>::quiet_NaN();
    samples_ += samples;
    return;
  }
  const std::span<const float> x = floats(parameters_.data);
  const std::span<float> mean = floats(gradients_.data);
  const auto count = static_cast<double>(samples);
  if (samples_ == 0) {
    loss_ += count * blueprint_.workload->gradient(rank(), x, mean, samples, data_random_);
  } else {
    piece_gradient_.resize(mean.size());
    loss_ += count * blueprint_.workload->gradient(rank(), x, piece_gradient_, samples, data_random_);
    const auto share = static_cast<float>(count / static_cast<double>(samples_ + samples));
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share * (piece_gradient_[i] - mean[i]);
  }
  samples_ += samples;
}

Task<> SimWorker::update() { return update(Slice{0, parameters_.data.count}, step_); }

Task<> SimWorker::update(Slice part, std::uint64_t step) {
  const bool ghost = parameters_.data.ghost();
  if (step != updated_) {
    optimizer_->advance();
    if (!ghost) optimizer_->clip(floats(gradients_.data));
  }
  updated_ = step;
  if (!ghost) optimizer_->apply(part, floats(parameters_.data), floats(gradients_.data));
  co_return;
}

Task<> SimWorker::pass_memory(std::size_t bytes) {
  const auto host = static_cast<std::size_t>(host_of(rank()));
  co_await runtime::sleep_until(now() + blueprint_.hosts[host].inside.time_for(bytes));
}

std::vector<strategy::Data> SimWorker::optimizer_state() {
  std::vector<strategy::Data> state;
  for (const std::span<float> vector : optimizer_->state()) state.emplace_back(vector);
  return state;
}

}  // namespace starling::sim
