// How much nearer one round of groups brings the models to their mean. The factors hold for any models if the
// groups are drawn as they should be. So worker i's model is always i: were neighbours to meet more often
// than others, they would be far off.
#include <gtest/gtest.h>

#include <cmath>

#include "starling/runtime/deadline.h"
#include "tests/support/group_ranks.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

// Sum over the models of their squared distances from the mean of all.
double spread_of(const testing::Models& models) {
  double sum = 0;
  for (std::size_t i = 0; i < models[0].size(); ++i) {
    double mean = 0;
    for (const auto& model : models) mean += static_cast<double>(model[i]);
    mean /= static_cast<double>(models.size());
    for (const auto& model : models) sum += std::pow(static_cast<double>(model[i]) - mean, 2);
  }
  return sum;
}

// The error of a factor: with a larger standard error a wrong one could pass.
constexpr double kSharp = 0.005;

// Mean and standard error of what was noted.
class Sample {
 public:
  void note(double value) {
    ++count_;
    sum_ += value;
    squares_ += value * value;
  }
  double mean() const { return sum_ / count_; }
  double standard_error() const { return std::sqrt((squares_ / count_ - mean() * mean()) / count_); }

 private:
  double count_ = 0, sum_ = 0, squares_ = 0;
};

// Worker i's gradient is i.
class Staircase final : public sim::Workload {
 public:
  const std::vector<Section>& sections() const override { return sections_; }
  std::size_t batch() const override { return 1; }
  void initialize(std::span<float> x, Random&) const override { x[0] = 0; }
  double gradient(Rank worker, std::span<const float>, std::span<float> gradient, std::size_t,
                  Random&) const override {
    gradient[0] = static_cast<float>(worker);
    return 1;
  }
  sim::Evaluation evaluate(std::span<const float>) const override { return {1, {}}; }

 private:
  std::vector<Section> sections_{{"x", 0, 1}};
};

// The spread of 0, 1, ..., n-1.
double spread_of_stairs(int n) { return n * (n * n - 1) / 12.0; }

// All workers are divided in groups of g at once: the factor is 1 - n (g-1) / (g (n-1)).
TEST(RipplesMixing, OneDivisionOfAll) {
  struct Case {
    int n, g;
  };
  for (const auto& [n, g] : {Case{16, 4}, Case{16, 2}, Case{8, 4}, Case{16, 8}}) {
    sim::Simulation simulation =
        testing::simulation_of("ripples", {{"division", "global"}, {"group-size", std::to_string(g)}}, n);
    simulation.workload = std::make_shared<Staircase>();
    simulation.optimizer.learning_rate = 1;
    simulation.steps = 1;
    Sample factors;
    for (simulation.seed = 1; simulation.seed <= 2500; ++simulation.seed) {
      factors.note(spread_of(testing::run_to_end(simulation).models) / spread_of_stairs(n));
    }
    EXPECT_NEAR(factors.mean(), 1 - static_cast<double>(n * (g - 1)) / (g * (n - 1)),
                4 * factors.standard_error())
        << n << " in groups of " << g;
    EXPECT_LT(factors.standard_error(), kSharp);
  }
}

// One worker asks; the others are leaving, and only run the group that they are in.
class OneGroup {
 public:
  OneGroup(int workers, std::size_t size, std::uint64_t seed)
      : groups_({.host_of = std::vector<int>(static_cast<std::size_t>(workers)),
                 .rules = {.kind = coordination::GroupRules::Kind::kRandom, .size = size},
                 .seed = seed}) {
    const Rank asker = Random(seed).between(0, workers - 1);
    for (Rank rank = 0; rank < workers; ++rank) {
      groups_.model(rank).assign(1, static_cast<float>(rank));
      groups_.ranks().start(rank, rank == asker ? ask(rank) : leave(rank));
    }
  }

  double factor() {
    groups_.ranks().run();
    return spread_of(models()) / spread_of_stairs(groups_.ranks().size());
  }

 private:
  runtime::Task<> ask(Rank rank) {
    co_await groups_.synchronise(rank);
    co_await groups_.leave(rank);
  }
  runtime::Task<> leave(Rank rank) {
    co_await runtime::sleep_for(std::chrono::seconds(1));
    co_await groups_.leave(rank);
  }
  testing::Models models() {
    testing::Models all;
    for (Rank rank = 0; rank < groups_.ranks().size(); ++rank) all.push_back(groups_.model(rank));
    return all;
  }

  testing::GroupRanks groups_;
};

// The factor of one random group of g is 1 - (g-1) / (n-1).
TEST(RipplesMixing, OneRandomGroup) {
  struct Case {
    int n, g;
  };
  for (const auto& [n, g] : {Case{16, 3}, Case{16, 4}, Case{8, 2}}) {
    Sample factors;
    for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
      factors.note(OneGroup(n, static_cast<std::size_t>(g), seed).factor());
    }
    EXPECT_NEAR(factors.mean(), 1 - static_cast<double>(g - 1) / (n - 1), 4 * factors.standard_error())
        << g << " of " << n;
    EXPECT_LT(factors.standard_error(), kSharp);
  }
}

}  // namespace
}  // namespace starling::strategy
