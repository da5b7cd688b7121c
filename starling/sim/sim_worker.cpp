#include "starling/sim/sim_worker.h"

#include <cmath>
#include <limits>

#include "starling/core/partition.h"
#include "starling/runtime/deadline.h"
#include "starling/strategy/exchange.h"

namespace starling::sim {

using runtime::Task;
using strategy::floats;
using strategy::StepListener;
using strategy::StepPlan;

SimWorker::SimWorker(const Blueprint& blueprint, Conductor& conductor, transport::Transport& net,
                     const Cluster& cluster, const Streams& streams)
    : Placed(blueprint.place, net, streams.strategy),
      blueprint_(blueprint),
      conductor_(conductor),
      pace_(cluster, net.rank()),
      jitter_(cluster.workers[static_cast<std::size_t>(net.rank())].jitter),
      jitter_random_(streams.jitter),
      data_random_(streams.data),
      parameters_(initial_model()),
      gradients_(allocate(parameters_.data.count)),
      optimizer_(make_optimizer(parameters_.data.count)) {}

Task<bool> SimWorker::compute(const StepPlan& plan) {
  if (!conductor_.may_begin(*this)) co_return false;
  ++step_;
  samples_ = 0;
  pieces_ = 0;
  loss_ = 0;
  updating_ = false;
  if (plan.listener != nullptr) plan.listener->begins();
  while (pieces_ < plan.pieces && (pieces_ == 0 || !plan.stop || !plan.stop())) {
    co_await run_piece(plan, pieces_);
    ++pieces_;
  }
  loss_ = samples_ > 0 ? loss_ / static_cast<double>(samples_) : std::numeric_limits<double>::quiet_NaN();
  journal().samples += samples_;
  conductor_.computed(*this);
  co_return true;
}

// Works for so many seconds of a worker of speed 1.
Task<> SimWorker::pass_time(double seconds) {
  const Time end = pace_.finish(now(), seconds);
  if (end >= Time(kForever)) {
    conductor_.stalled(*this);
    co_await never_;
  }
  co_await runtime::sleep_until(end);
}

// The gradient is taken when the time has passed: only then have all sections been let through.
Task<> SimWorker::run_piece(const StepPlan& plan, int piece) {
  const strategy::Stopwatch watch(*this, record::Activity::kCompute);
  const std::size_t batch = blueprint_.workload->batch();
  const std::size_t samples =
      slice_of(batch, static_cast<std::size_t>(plan.pieces), static_cast<std::size_t>(piece)).size();
  const double factor =
      draw(jitter_, jitter_random_) * static_cast<double>(samples) / static_cast<double>(batch);
  if (plan.listener != nullptr && plan.listener->by_section()) {
    co_await pass_sections(*plan.listener, factor);
  } else {
    co_await pass_time(blueprint_.times.total() * factor);
  }
  add_gradient(samples);
}

Task<> SimWorker::pass_sections(StepListener& listener, double factor) {
  const StepTimes& times = blueprint_.times;
  for (std::size_t section = 0; section < times.forward.size(); ++section) {
    co_await listener.before_forward(section);
    co_await pass_time(times.forward[section] * factor);
  }
  for (std::size_t section = times.backward.size(); section-- > 0;) {
    co_await pass_time(times.backward[section] * factor);
    listener.gradient_ready(section);
  }
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

Task<> SimWorker::update() { return update(Slice{0, parameters_.data.count}); }

Task<> SimWorker::update(Slice part) {
  if (!updating_) optimizer_->advance();
  updating_ = true;
  if (!parameters_.data.ghost()) optimizer_->apply(part, floats(parameters_.data), floats(gradients_.data));
  co_return;
}

std::vector<strategy::Data> SimWorker::optimizer_state() {
  std::vector<strategy::Data> state;
  for (const std::span<float> vector : optimizer_->state()) state.emplace_back(vector);
  return state;
}

}  // namespace starling::sim
