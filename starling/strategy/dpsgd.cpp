#include "starling/strategy/dpsgd.h"

#include "starling/strategy/averaging/agreed_graph.h"
#include "starling/strategy/averaging/neighbour_exchange.h"

namespace starling::strategy {

Dpsgd::Dpsgd(const Options& options, int workers)
    : graph_(coordination::make_graph(options.text("graph"), workers)) {
  if (options.text("weights") == "laplacian") {
    rule_ = std::make_unique<LaplacianRule>(graph_);
  } else {
    rule_ = std::make_unique<MetropolisRule>();
  }
}

Task<> Dpsgd::run(Worker& self) const {
  const std::unique_ptr<MixingRule> rule = rule_->copy();
  co_await run_dpsgd(self, graph_, *rule);
}

Task<> run_dpsgd(Worker& self, const coordination::Graph& graph, MixingRule& rule) {
  AgreedGraph graphs(self, graph);
  NeighbourExchange exchange(self, graphs, rule);
  StepPlan plan;
  plan.listener = &exchange;
  for (;;) {
    co_await graphs.begin(self.step() + 1);
    const bool more = co_await self.compute(plan);
    if (!more) co_return;
    co_await exchange.finish();
    exchange.mix();
    if (self.samples() > 0) co_await self.update();
  }
}

OptionSpec graph_option(const std::string& fallback) {
  return OptionSpec::text("graph", fallback,
                          "ring, torus, hypercube, exponential, complete, or file:PATH with an edge a line");
}

StrategyEntry dpsgd_row() {
  return {
      .name = "dpsgd",
      .summary = "models are averaged with the neighbours in a graph, while the gradient is computed",
      .options = {graph_option(),
                  OptionSpec::choice("weights", {"metropolis", "laplacian"},
                                     "metropolis: by the neighbours' degrees; laplacian: the best equal "
                                     "weight of all edges")},
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
      .variants = {{},
                   {{"graph", "torus"}},
                   {{"graph", "exponential"}},
                   {{"graph", "complete"}},
                   {{"weights", "laplacian"}},
                   {{"weights", "laplacian"}, {"graph", "exponential"}}},
  };
}

}  // namespace starling::strategy
