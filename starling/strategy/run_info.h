// The facts of a run that all members share, and the part of Member that follows from them alone. Both worlds
// build their workers and services on it.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/strategy/gradient_check.h"
#include "starling/strategy/worker.h"

namespace starling::strategy {

// 0, 1, ..., count - 1
inline Group ranks_up_to(int count) {
  Group ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

struct RunInfo {
  int workers = 1;
  collective::SharedGroup everyone{0};  // the workers
  Rank server = 0;
  std::vector<int> host_of_rank;
  std::vector<bool> starts;  // by worker
  optim::OptimizerSpec optimizer;
  std::string no_flat_optimizer;  // why the worker's own optimiser has no flat form; empty if it has one
  std::size_t elements = 0;       // of the model
  std::vector<Section> sections;  // they cover the model
  bool ghost = false;
  std::vector<float> initial_model;  // empty if ghost
  NonFinite nonfinite = NonFinite::kApply;
};

// The RunInfo must outlive it.
template <class Base>
class WithRunInfo : public Base {
 public:
  WithRunInfo(const RunInfo& info, Transport& net, Random random) : info_(info), net_(net), random_(random) {}

  Transport& net() override { return net_; }
  int workers() const override { return info_.workers; }
  collective::SharedGroup everyone() const override { return info_.everyone; }
  Rank server() const override { return info_.server; }
  int host_of(Rank rank) const override { return info_.host_of_rank.at(static_cast<std::size_t>(rank)); }
  bool starts(Rank worker) const override { return info_.starts.at(static_cast<std::size_t>(worker)); }
  membership::Membership* membership() override { return membership_; }
  // Before the strategy begins. It must outlive the member's use of it.
  void take_part_in(membership::Membership& membership) { membership_ = &membership; }
  const std::vector<Section>& sections() const override { return info_.sections; }
  Random& random() override { return random_; }
  record::Journal& journal() override { return journal_; }

  Buffer allocate(std::size_t count) override {
    return info_.ghost ? Buffer{{}, {nullptr, count, DType::kFloat32}} : allocate_numbers(count);
  }

  Buffer allocate_numbers(std::size_t count) override {
    transport::Memory memory = net_.allocate(count * sizeof(float));
    std::byte* const bytes = memory.bytes.data();
    return {std::move(memory), {bytes, count, DType::kFloat32}};
  }

  Buffer initial_model() override {
    Buffer model = allocate(info_.elements);
    if (!info_.ghost) {
      std::copy(info_.initial_model.begin(), info_.initial_model.end(), floats(model.data).begin());
    }
    return model;
  }

  std::unique_ptr<optim::Optimizer> make_optimizer(std::size_t count) override {
    if (!info_.no_flat_optimizer.empty()) throw InvalidArgument(info_.no_flat_optimizer);
    // As many tensors as there are, so that as many norms are exchanged.
    if (info_.ghost) return optim::make_optimizer(info_.optimizer, 0, optim::Tensors(info_.sections.size()));
    return optim::make_optimizer(info_.optimizer, count, tensors_of(info_.sections, info_.optimizer));
  }

 private:
  const RunInfo& info_;
  Transport& net_;
  Random random_;
  membership::Membership* membership_ = nullptr;
  record::Journal journal_;
};

}  // namespace starling::strategy
