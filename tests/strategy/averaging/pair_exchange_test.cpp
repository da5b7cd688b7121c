// Exchanges one at a time: workers that make a given number of steps and then pause.
#include "starling/strategy/averaging/pair_exchange.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <map>

#include "starling/runtime/deadline.h"
#include "starling/strategy/registry.h"
#include "starling/strategy/run_info.h"
#include "tests/support/virtual_ranks.h"

namespace starling::strategy {
namespace {

using Vector = std::vector<float>;
using Kept = std::map<std::string, std::vector<std::byte>>;

constexpr Time kEnd{std::chrono::seconds(10)};

// Steps of a second, then nothing until the end. An update may take time and takes `descent` off the model.
class Puppet final : public WithRunInfo<Worker> {
 public:
  Puppet(const RunInfo& place, transport::Transport& net, Random random, std::uint64_t steps)
      : WithRunInfo(place, net, random),
        steps_(steps),
        parameters_(allocate(place.elements)),
        gradients_(allocate(place.elements)),
        company_(net.scheduler()) {}

  Data parameters() override { return parameters_.data; }
  Data gradients() override { return gradients_.data; }
  const std::vector<Section>& sections() const override { return sections_; }
  void beside(Task<> task, std::string name) override { company_.spawn(std::move(task), std::move(name)); }
  std::vector<Data> optimizer_state() override { return {}; }
  double learning_rate() const override { return 0; }
  void set_learning_rate(double) override {}
  std::uint64_t step() const override { return step_; }
  std::size_t samples() const override { return 1; }
  int pieces() const override { return 1; }
  double loss() const override { return 0; }
  bool equal_batches() const override { return true; }

  Task<bool> compute(const StepPlan& plan) override {
    if (step_ == steps_) {
      co_await runtime::sleep_until(kEnd);
      resting = floats_of(parameters());
      for (const auto& [name, state] : kept_) kept[name].assign(state.begin(), state.end());
      co_return false;
    }
    co_await runtime::sleep_until(std::max(begins, now()));
    ++step_;
    plan.listener->begins();
    co_await runtime::sleep_until(now() + std::chrono::seconds(1));
    co_return true;
  }
  Task<> update() override {
    co_await runtime::sleep_until(now() + update_takes);
    for (float& value : floats(parameters())) value -= descent;
  }
  Task<> update(Slice, std::uint64_t) override { return update(); }
  optim::Optimizer& flat_optimizer() override { throw Error("no optimiser"); }
  bool has_flat_optimizer() const override { return false; }
  double clip_norm() const override { return 0; }

  void keep(std::string_view name, std::span<std::byte> state) override {
    const auto found = before.find(std::string(name));
    if (found != before.end()) std::copy(found->second.begin(), found->second.end(), state.begin());
    kept_[std::string(name)] = state;
  }

  static Vector floats_of(Data data) { return {floats(data).begin(), floats(data).end()}; }

  Time begins{};
  Duration update_takes{};
  float descent = 0;
  Kept before, kept;  // at the start, and while it rested
  Vector resting;     // the model then

 private:
  std::uint64_t steps_;
  std::uint64_t step_ = 0;
  Buffer parameters_;
  Buffer gradients_;
  std::vector<Section> sections_{{"x", 0, 1}};
  std::map<std::string, std::span<std::byte>> kept_;
  runtime::Scope company_;
};

// Runs to the end and leaves the models there.
struct Theatre {
  Theatre(std::vector<Vector> models, const std::vector<std::uint64_t>& steps, std::uint64_t seed = 1)
      : ranks(static_cast<int>(models.size())) {
    const int workers = ranks.size();
    place.workers = workers;
    place.everyone = ranks_up_to(workers);
    place.host_of_rank.assign(models.size(), 0);
    place.starts.assign(models.size(), true);
    place.elements = models.front().size();
    for (std::size_t rank = 0; rank < models.size(); ++rank) {
      Puppet& puppet = puppets.emplace_back(place, ranks.at(static_cast<Rank>(rank)), Random(seed).fork(rank),
                                            steps[rank]);
      std::copy(models[rank].begin(), models[rank].end(), floats(puppet.parameters()).begin());
    }
  }

  std::vector<Vector> run(const std::string& graph) {
    const StrategyEntry& row = find_strategy("adpsgd");
    const auto strategy = row.make(Options::parse(row.options, row.name, {{"graph", graph}}), ranks.size());
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      ranks.start(rank, strategy->run(puppets[static_cast<std::size_t>(rank)]));
    }
    ranks.run();
    std::vector<Vector> models;
    for (Puppet& puppet : puppets) models.push_back(Puppet::floats_of(puppet.parameters()));
    return models;
  }

  RunInfo place;
  testing::VirtualRanks ranks;
  std::deque<Puppet> puppets;
};

TEST(PairExchange, OneExchangeIsADoublyStochasticMatrix) {
  for (const char* graph : {"bipartite", "any"}) {
    // Unit vectors: the models afterwards are the rows of the matrix.
    const auto w = Theatre({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {1, 0, 0}, 5).run(graph);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(w[i][0] + w[i][1] + w[i][2], 1);
      EXPECT_EQ(w[0][i] + w[1][i] + w[2][i], 1);
      for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(w[i][j], w[j][i]);
    }
    EXPECT_EQ(w[0][0], 0.5F);
  }
}

// Worker 1 is asked in the middle of an update, which its snapshot does not have: it must not be undone.
TEST(PairExchange, AnUpdateDuringAnExchangeIsNotLost) {
  Theatre theatre({{4}, {8}}, {1, 1});
  for (Puppet& puppet : theatre.puppets) puppet.descent = 1;
  theatre.puppets[0].begins = Time(std::chrono::milliseconds(1200));
  theatre.puppets[1].update_takes = std::chrono::milliseconds(500);  // from 1 s on
  EXPECT_EQ(theatre.run("bipartite"), (std::vector<Vector>{{4 + 2 - 1}, {8 - 2 - 1}}));
}

double distance(const std::vector<Vector>& models) {
  double sum = 0;
  for (std::size_t i = 0; i < models.front().size(); ++i) {
    double mean = 0;
    for (const Vector& model : models) mean += static_cast<double>(model[i]);
    mean /= static_cast<double>(models.size());
    for (const Vector& model : models) sum += std::pow(static_cast<double>(model[i]) - mean, 2);
  }
  return sum;
}

// An exchange of a uniformly random pair takes 1/(n-1) off the squared distance from the mean.
TEST(PairExchange, ARandomPairContractsAsDerived) {
  constexpr int kWorkers = 8, kDraws = 10'000;
  Random random(3);
  double sum = 0, squares = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<Vector> models(kWorkers, Vector(4));
    for (Vector& model : models) {
      for (float& value : model) value = static_cast<float>(random.normal());
    }
    std::vector<std::uint64_t> steps(kWorkers);
    steps[static_cast<std::size_t>(draw % kWorkers)] = 1;
    const double before = distance(models);
    const double factor = distance(Theatre(models, steps, random.next()).run("any")) / before;
    sum += factor;
    squares += factor * factor;
  }
  const double mean = sum / kDraws;
  const double error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
  EXPECT_LT(error, 0.002);
  EXPECT_NEAR(mean, 1 - 1.0 / (kWorkers - 1), 3 * error);
}

// A pausing worker, as for a checkpoint, still answers. The result is stored beside the model, which is not
// written meanwhile, and is part of the model of a run that continues from there.
TEST(PairExchange, WhatComesInDuringARestIsKept) {
  Theatre first({{4}, {8}}, {1, 0});
  EXPECT_EQ(first.run("bipartite"), (std::vector<Vector>{{6}, {6}}));
  EXPECT_EQ(first.puppets[0].resting, Vector{6});
  EXPECT_EQ(first.puppets[1].resting, Vector{8});
  Theatre second({first.puppets[0].resting, first.puppets[1].resting}, {0, 0});
  for (std::size_t rank = 0; rank < 2; ++rank) second.puppets[rank].before = first.puppets[rank].kept;
  EXPECT_EQ(second.run("bipartite"), (std::vector<Vector>{{6}, {6}}));
}

// A worker that has made its last step keeps its model; a worker that asks it goes on and asks others.
TEST(PairExchange, WhoHasFinishedTakesPartInNothing) {
  class Brief final : public Strategy {
   public:
    Task<> run(Worker& self) const override {
      const auto exchange = std::make_shared<PairExchange>(self);
      self.beside(PairExchange::answer(exchange), "answers");
      if (self.rank() == 1) co_return co_await exchange->finish();
      co_await runtime::sleep_until(Time(std::chrono::seconds(1)));
      for (int i = 0; i < 2; ++i) {
        const bool takes_part = co_await exchange->with(1);
        EXPECT_FALSE(takes_part);
      }
      const bool takes_part = co_await exchange->with(2 - self.rank());
      EXPECT_TRUE(takes_part);
      co_await runtime::sleep_until(Time(std::chrono::seconds(2)));
      co_await exchange->finish();
    }
  };
  const Brief brief;
  Theatre theatre({{4}, {100}, {8}}, {0, 0, 0});
  for (Rank rank = 0; rank < 3; ++rank) {
    theatre.ranks.start(rank, brief.run(theatre.puppets[static_cast<std::size_t>(rank)]));
  }
  theatre.ranks.run();
  for (const auto& [rank, model] : std::map<std::size_t, float>{{0, 6}, {1, 100}, {2, 6}}) {
    EXPECT_EQ(Puppet::floats_of(theatre.puppets[rank].parameters()), Vector{model});
  }
}

}  // namespace
}  // namespace starling::strategy
