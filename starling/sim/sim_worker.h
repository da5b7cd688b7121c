// A strategy's view of the simulated world.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "starling/runtime/event.h"
#include "starling/sim/blueprint.h"
#include "starling/sim/cluster.h"
#include "starling/sim/pace.h"
#include "starling/sim/workload.h"
#include "starling/strategy/worker.h"

namespace starling::sim {

class SimWorker;

// Decides when the run is over.
class Conductor {
 public:
  // The worker is done with its last step and asks for the next. True: it begins now.
  virtual bool may_begin(SimWorker& worker) = 0;
  // The gradient of its step is there.
  virtual void computed(SimWorker& worker) = 0;
  // Its step will never be done: it pauses without end, or would need longer than time can count.
  virtual void stalled(SimWorker& worker) = 0;

 protected:
  ~Conductor() = default;
};

// The part of Member that workers and services share.
template <class Base>
class SimMember : public Base {
 public:
  SimMember(const Blueprint& blueprint, transport::Transport& net, Random random)
      : blueprint_(blueprint), net_(net), random_(random) {}

  transport::Transport& net() override { return net_; }
  int workers() const override { return blueprint_.workers; }
  collective::SharedGroup everyone() const override { return blueprint_.everyone; }
  Rank server() const override { return blueprint_.server; }
  int host_of(Rank rank) const override { return blueprint_.host_of_rank.at(static_cast<std::size_t>(rank)); }
  bool starts(Rank worker) const override { return blueprint_.starts.at(static_cast<std::size_t>(worker)); }
  Random& random() override { return random_; }
  record::Journal& journal() override { return journal_; }

  strategy::Buffer allocate(std::size_t count) override {
    if (blueprint_.workload->ghost()) return {{}, {nullptr, count, DType::kFloat32}};
    transport::Memory memory = net_.allocate(count * sizeof(float));
    std::byte* const bytes = memory.bytes.data();
    return {std::move(memory), {bytes, count, DType::kFloat32}};
  }

  strategy::Buffer initial_model() override {
    strategy::Buffer model = allocate(blueprint_.workload->parameters());
    if (!model.data.ghost()) {
      std::copy(blueprint_.initial_model.begin(), blueprint_.initial_model.end(),
                strategy::floats(model.data).begin());
    }
    return model;
  }

  std::unique_ptr<optim::Optimizer> make_optimizer(std::size_t count) override {
    return optim::make_optimizer(blueprint_.optimizer, blueprint_.workload->ghost() ? 0 : count);
  }

 protected:
  const Blueprint& blueprint_;

 private:
  transport::Transport& net_;
  Random random_;
  record::Journal journal_;
};

class SimWorker final : public SimMember<strategy::Worker> {
 public:
  struct Streams {
    Random strategy;
    Random jitter;
    Random data;
  };

  SimWorker(const Blueprint& blueprint, Conductor& conductor, transport::Transport& net,
            const Cluster& cluster, const Streams& streams);

  strategy::Data parameters() override { return parameters_.data; }
  strategy::Data gradients() override { return gradients_.data; }
  const std::vector<strategy::Section>& sections() const override { return blueprint_.workload->sections(); }

  using Worker::compute;
  runtime::Task<bool> compute(const strategy::StepPlan& plan) override;
  runtime::Task<> update() override;
  runtime::Task<> update(Slice part) override;
  std::vector<strategy::Data> optimizer_state() override;

  std::uint64_t step() const override { return step_; }
  std::size_t samples() const override { return samples_; }
  int pieces() const override { return pieces_; }
  double loss() const override { return loss_; }
  bool equal_batches() const override { return true; }

 private:
  runtime::Task<> run_piece(const strategy::StepPlan& plan, int piece);
  runtime::Task<> pass_time(double seconds);
  runtime::Task<> pass_sections(strategy::StepListener& listener, double factor);
  void add_gradient(std::size_t samples);

  Conductor& conductor_;
  Pace pace_;
  Jitter jitter_;
  Random jitter_random_;
  Random data_random_;
  strategy::Buffer parameters_;
  strategy::Buffer gradients_;
  std::vector<float> piece_gradient_;  // only while a batch is cut in pieces
  std::unique_ptr<optim::Optimizer> optimizer_;
  runtime::Event never_{"a step without end"};
  bool updating_ = false;  // a part of this step's update has been made
  std::uint64_t step_ = 0;
  std::size_t samples_ = 0;
  int pieces_ = 0;
  double loss_ = 0;
};

}  // namespace starling::sim
