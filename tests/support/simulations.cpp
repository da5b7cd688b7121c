#include "tests/support/simulations.h"

#include <algorithm>

namespace starling::testing {

namespace {

class KeepModels final : public sim::Observer {
 public:
  void ends(Models models) override {
    for (const auto& model : models) kept.emplace_back(model.begin(), model.end());
  }
  std::vector<std::vector<float>> kept;
};

class Signatures final : public sim::Workload {
 public:
  Signatures(int workers, std::size_t batch)
      : sections_{{"x", 0, static_cast<std::size_t>(workers)}}, batch_(batch) {}
  const std::vector<strategy::Section>& sections() const override { return sections_; }
  std::size_t batch() const override { return batch_; }
  void initialize(std::span<float> x, Random&) const override { std::fill(x.begin(), x.end(), 0.0F); }
  double gradient(Rank worker, std::span<const float>, std::span<float> gradient, std::size_t,
                  Random&) const override {
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    gradient[static_cast<std::size_t>(worker)] = 1;
    return 1;
  }
  sim::Evaluation evaluate(std::span<const float>) const override { return {1, {}}; }

 private:
  std::vector<strategy::Section> sections_;
  std::size_t batch_;
};

class Alone final : public strategy::Strategy {
 public:
  runtime::Task<> run(strategy::Worker& self) const override;
  bool lockstep() const override { return false; }
};

// GCC 12 compiles a coroutine that awaits in a condition wrongly if it has no variable of its own.
runtime::Task<> Alone::run(strategy::Worker& self) const {
  for (;;) {
    const bool more = co_await self.compute();
    if (!more) co_return;
    co_await self.update();
  }
}

cluster::Cluster cluster_with(int workers, cluster::Link link) {
  cluster::Cluster cluster;
  for (int worker = 0; worker < workers; ++worker) {
    cluster.hosts.push_back({"", link, link});
    cluster.workers.emplace_back().host = worker;
  }
  cluster.network = link;
  return cluster;
}

}  // namespace

cluster::Link instant_link() { return {1e15, Duration(0)}; }

cluster::Cluster equal_cluster(int workers) {
  return cluster_with(workers, {1.25e9, std::chrono::microseconds(50)});
}

cluster::Cluster instant_cluster(int workers) { return cluster_with(workers, instant_link()); }

sim::Simulation simulation_of(const strategy::StrategyEntry& row, const strategy::OptionTexts& options,
                              int workers) {
  static const std::shared_ptr<const sim::Workload> quadratic =
      sim::make_workload("quadratic", {.parameters = 16}, "workload");
  sim::Simulation simulation;
  simulation.strategy = &row;
  simulation.options = options;
  simulation.cluster = equal_cluster(workers);
  if (needs_one_host(row, strategy::Options::parse(row.options, row.name, options))) {
    for (cluster::WorkerSpec& worker : simulation.cluster.workers) worker.host = 0;
  }
  simulation.workload = quadratic;
  simulation.optimizer.learning_rate = 0.1;
  simulation.steps = 10;
  return simulation;
}

sim::Simulation simulation_of(const std::string& strategy, const strategy::OptionTexts& options,
                              int workers) {
  return simulation_of(strategy::find_strategy(strategy), options, workers);
}

Outcome run_to_end(sim::Simulation simulation) {
  KeepModels keeper;
  simulation.observer = &keeper;
  record::RunRecord run = sim::simulate(simulation);
  return {std::move(run), std::move(keeper.kept)};
}

std::shared_ptr<const sim::Workload> signatures(int workers, std::size_t batch) {
  return std::make_shared<Signatures>(workers, batch);
}

const strategy::StrategyEntry& alone() {
  static const strategy::StrategyEntry row{
      .name = "alone",
      .summary = "every worker trains for itself",
      .promises = {.on_loss = strategy::OnLoss::kGoesOn},
      .make = [](const strategy::Options&, int) { return std::make_unique<Alone>(); },
  };
  return row;
}

}  // namespace starling::testing
