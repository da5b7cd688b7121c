#include "starling/strategy/dpsgd.h"

#include <deque>

#include "starling/coordination/mixing.h"
#include "starling/core/error.h"
#include "starling/strategy/averaging/agreed_graph.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

namespace {

// One worker's exchange of models with its neighbours, posted when a step begins and finished after it.
class Neighbourhood final : public StepListener {
 public:
  Neighbourhood(Worker& self, const AgreedGraph& graphs) : self_(self), graphs_(graphs) {}

  bool by_section() const override { return false; }

  void begins() override {
    follow(graphs_.of(self_.step()));
    const Tag tag = tag_of(Channel::kModel, self_.step());
    for (Neighbour& neighbour : neighbours_) {
      received_.emplace_back(self_.net(), neighbour.rank, tag, neighbour.model.data.span());
      sent_.emplace_back(self_.net(), neighbour.rank, tag, self_.parameters().span());
    }
  }

  // Lost neighbours send nothing.
  Task<> finish() {
    for (std::size_t i = 0; i < neighbours_.size(); ++i) {
      neighbours_[i].heard = false;
      const Stopwatch watch(self_, record::Activity::kWait, neighbours_[i].rank);
      try {
        co_await received_[i];
        neighbours_[i].heard = true;
        co_await sent_[i];
      } catch (const PeerLost&) {
      }
    }
    received_.clear();
    sent_.clear();
  }

  // x_i += sum_j W_ij (x_j - x_i), which is the same sum and leaves equal models exactly as they are.
  void mix() const {
    if (self_.parameters().ghost()) return;
    const std::span<float> x = floats(self_.parameters());
    std::vector<float> change(x.size());
    for (std::size_t n = 0; n < neighbours_.size(); ++n) {
      if (!neighbours_[n].heard) continue;
      const std::span<const float> other = floats(neighbours_[n].model.data);
      const auto weight = static_cast<float>(weights_[n]);
      for (std::size_t i = 0; i < x.size(); ++i) change[i] += weight * (other[i] - x[i]);
    }
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += change[i];
  }

 private:
  struct Neighbour {
    Rank rank;
    Buffer model;
    bool heard = false;
  };

  void follow(const coordination::Graph& graph) {
    if (graph_ == &graph) return;
    graph_ = &graph;
    weights_ = coordination::metropolis(graph, self_.rank()).weights;
    neighbours_.clear();
    for (const Rank rank : graph.neighbours(self_.rank())) {
      neighbours_.push_back({rank, self_.allocate(self_.parameters().count)});
    }
  }

  Worker& self_;
  const AgreedGraph& graphs_;
  const coordination::Graph* graph_ = nullptr;  // of this step
  std::vector<double> weights_;
  std::vector<Neighbour> neighbours_;
  std::deque<transport::Receiving> received_;
  std::deque<transport::Sending> sent_;
};

}  // namespace

Dpsgd::Dpsgd(const Options& options, int workers)
    : graph_(coordination::make_graph(options.text("graph"), workers)) {}

Task<> Dpsgd::run(Worker& self) const {
  AgreedGraph graphs(self, graph_);
  Neighbourhood neighbourhood(self, graphs);
  StepPlan plan;
  plan.listener = &neighbourhood;
  for (;;) {
    co_await graphs.begin(self.step() + 1);
    const bool more = co_await self.compute(plan);
    if (!more) co_return;
    co_await neighbourhood.finish();
    neighbourhood.mix();
    if (self.samples() > 0) co_await self.update();
  }
}

StrategyEntry dpsgd_row() {
  return {
      .name = "dpsgd",
      .summary = "models are averaged with the neighbours in a graph, while the gradient is computed",
      .options = {OptionSpec::text(
          "graph", "ring",
          "ring, torus, hypercube, exponential, complete, or file:PATH with an edge a line")},
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .conserves_mean = true,
                   .staleness = "0",
                   .waits_for = "the slowest neighbour, every step",
                   .bytes = "d M, d = number of neighbours"},
      .make = make<Dpsgd>,
      .bytes_sent = [](const Options& options, const Shape& shape,
                       Rank rank) -> std::optional<std::uint64_t> {
        const auto graph = coordination::make_graph(options.text("graph"), shape.workers);
        return shape.steps * graph.neighbours(rank).size() * shape.elements * sizeof(float);
      },
      .variants = {{}, {{"graph", "torus"}}, {{"graph", "exponential"}}, {{"graph", "complete"}}},
  };
}

}  // namespace starling::strategy
