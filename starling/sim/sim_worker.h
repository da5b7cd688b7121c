// A strategy's view of the simulated world.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "starling/cluster/cluster.h"
#include "starling/cluster/speed_profile.h"
#include "starling/runtime/event.h"
#include "starling/sim/blueprint.h"
#include "starling/sim/workload.h"
#include "starling/strategy/compute_spans.h"

namespace starling::sim {

class SimWorker;

// Decides when the run is over.
class Conductor {
 public:
  // Called before may_begin: whether it, or other code before the worker's next step, will look at the model.
  virtual bool looks_at(const SimWorker& worker) const = 0;
  // The worker is done with its last step and asks for the next. True: it begins now.
  virtual bool may_begin(SimWorker& worker) = 0;
  // The gradient of its step is ready.
  virtual void computed(SimWorker& worker) = 0;
  // Its step will never end: it pauses without end, or would need longer than time can count.
  virtual void stalled(SimWorker& worker) = 0;
  // Runs the task as long as the worker lives and the run is not over.
  virtual void beside(SimWorker& worker, runtime::Task<> task, std::string name) = 0;

 protected:
  ~Conductor() = default;
};

class SimWorker final : public strategy::WithRunInfo<strategy::Worker> {
 public:
  struct Streams {
    Random strategy;
    Random jitter;
    Random data;
  };

  SimWorker(const Blueprint& blueprint, Conductor& conductor, transport::Transport& net,
            const cluster::Cluster& cluster, const Streams& streams);

  strategy::Data parameters() override { return parameters_.data; }
  strategy::Data gradients() override { return gradients_.data; }

  using Worker::compute;
  runtime::Task<bool> compute(const strategy::StepPlan& plan) override;
  runtime::Task<> update() override;
  runtime::Task<> update(Slice part, std::uint64_t step) override;
  optim::Optimizer& flat_optimizer() override { return *optimizer_; }
  bool has_flat_optimizer() const override { return true; }
  double clip_norm() const override { return blueprint_.place.optimizer.clip_norm; }
  void beside(runtime::Task<> task, std::string name) override {
    conductor_.beside(*this, std::move(task), std::move(name));
  }
  // At the bandwidth inside the host, as if this worker had it alone.
  runtime::Task<> pass_memory(std::size_t bytes) override;
  std::vector<strategy::Data> optimizer_state() override;
  double learning_rate() const override { return optimizer_->learning_rate(); }
  void set_learning_rate(double rate) override { optimizer_->set_learning_rate(rate); }

  std::uint64_t step() const override { return step_; }
  std::size_t samples() const override { return samples_; }
  int pieces() const override { return pieces_; }
  double loss() const override { return loss_; }
  bool equal_batches() const override { return blueprint_.equal_batches; }
  bool skips_steps() const override { return check_.rule() == strategy::NonFinite::kSkip; }
  bool skipped() const override { return check_.skipped(); }

 private:
  std::size_t batch_of(const strategy::StepPlan& plan) const;
  // The next pieces, in one pass. False: they were dropped.
  runtime::Task<bool> run_pieces(const strategy::StepPlan& plan, int together);
  // False: the event came first.
  runtime::Task<bool> pass_time(double seconds, runtime::Event* end = nullptr);
  runtime::Task<> pass_forward(strategy::StepListener& listener, double factor);
  runtime::Task<> pass_backward(const strategy::StepPlan& plan, double factor);
  runtime::Task<> pass_section(const strategy::StepListener& listener, record::Detail::Kind kind,
                               std::size_t section, double seconds);
  void pass_on(strategy::StepListener& listener, std::size_t section);
  void finish_step();
  void add_gradient(std::size_t samples);

  const Blueprint& blueprint_;
  Conductor& conductor_;
  cluster::SpeedProfile pace_;
  cluster::JitterFactors jitter_;
  Random data_random_;
  strategy::Buffer parameters_;
  strategy::Buffer gradients_;
  std::vector<float> piece_gradient_;  // only while a batch is cut in pieces
  std::unique_ptr<optim::Optimizer> optimizer_;
  strategy::GradientCheck check_;
  strategy::ComputeSpans spans_{*this};
  runtime::Event never_{"a step without end"};
  std::uint64_t updated_ = 0;  // the last step of which a part was applied
  std::uint64_t step_ = 0;
  std::size_t samples_ = 0;
  int pieces_ = 0;
  double loss_ = 0;
};

}  // namespace starling::sim
