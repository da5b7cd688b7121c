#include "starling/strategy/matcha.h"

#include "starling/strategy/dpsgd.h"

namespace starling::strategy {

namespace {

std::optional<std::uint64_t> bytes_by_matcha(const Options& options, const Shape& shape, Rank rank) {
  const auto graph = coordination::make_graph(options.text("graph"), shape.workers);
  MatchaRule rule(graph, options.number("budget"));
  std::uint64_t models = 0;
  for (std::uint64_t step = 1; step <= shape.steps; ++step) models += rule.links(graph, rank, step).size();
  return models * shape.elements * sizeof(float);
}

}  // namespace

Matcha::Matcha(const Options& options, int workers)
    : graph_(coordination::make_graph(options.text("graph"), workers)),
      rule_(graph_, options.number("budget")) {}

Task<> Matcha::run(Worker& self) const {
  MatchaRule rule = rule_;
  co_await run_dpsgd(self, graph_, rule);
}

OptionSpec budget_option() {
  return OptionSpec::number("budget", "0.5", 0.001, 1,
                            "how many of the matchings are active in a step, on average");
}

StrategyEntry matcha_row() {
  return {
      .name = "matcha",
      .summary =
          "dpsgd with random matchings of the graph instead of all links, the important ones most often",
      .options = {graph_option("exponential"), budget_option()},
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .conserves_mean = true,
                   .staleness = "0",
                   .waits_for = "the slowest neighbour on an active link; in a step without one, nobody",
                   .bytes = "on average about `budget` d M, d = number of neighbours"},
      .make = make<Matcha>,
      .bytes_sent = bytes_by_matcha,
      .variants = {{},
                   {{"budget", "1"}},
                   {{"budget", "0.25"}, {"graph", "torus"}},
                   {{"graph", "ring"}},
                   {{"graph", "complete"}}},
  };
}

}  // namespace starling::strategy
