// What all members of a run know of it, and the part of Member that follows from that alone. Both worlds
// build their workers and services on it.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/strategy/worker.h"

namespace starling::strategy {

// 0, 1, ..., count - 1
inline Group ranks_up_to(int count) {
  Group ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

struct Place {
  int workers = 1;
  collective::SharedGroup everyone{0};  // the workers
  Rank server = 0;
  std::vector<int> host_of_rank;
  std::vector<bool> starts;  // by worker
  optim::OptimizerSpec optimizer;
  std::string no_flat_optimizer;  // why the worker's own optimiser has no flat form; empty: it has
  std::size_t elements = 0;       // of the model
  bool ghost = false;
  std::vector<float> initial_model;  // empty if ghost
};

// `place` must outlive it.
template <class Base>
class Placed : public Base {
 public:
  Placed(const Place& place, Transport& net, Random random) : place_(place), net_(net), random_(random) {}

  Transport& net() override { return net_; }
  int workers() const override { return place_.workers; }
  collective::SharedGroup everyone() const override { return place_.everyone; }
  Rank server() const override { return place_.server; }
  int host_of(Rank rank) const override { return place_.host_of_rank.at(static_cast<std::size_t>(rank)); }
  bool starts(Rank worker) const override { return place_.starts.at(static_cast<std::size_t>(worker)); }
  Random& random() override { return random_; }
  record::Journal& journal() override { return journal_; }

  Buffer allocate(std::size_t count) override {
    if (place_.ghost) return {{}, {nullptr, count, DType::kFloat32}};
    transport::Memory memory = net_.allocate(count * sizeof(float));
    std::byte* const bytes = memory.bytes.data();
    return {std::move(memory), {bytes, count, DType::kFloat32}};
  }

  Buffer initial_model() override {
    Buffer model = allocate(place_.elements);
    if (!place_.ghost) {
      std::copy(place_.initial_model.begin(), place_.initial_model.end(), floats(model.data).begin());
    }
    return model;
  }

  std::unique_ptr<optim::Optimizer> make_optimizer(std::size_t count) override {
    if (!place_.no_flat_optimizer.empty()) throw InvalidArgument(place_.no_flat_optimizer);
    return optim::make_optimizer(place_.optimizer, place_.ghost ? 0 : count);
  }

 private:
  const Place& place_;
  Transport& net_;
  Random random_;
  record::Journal journal_;
};

}  // namespace starling::strategy
