#include "starling/strategy/compressed/compressed_mean.h"

#include <gtest/gtest.h>

#include <cmath>

#include "starling/compression/registry.h"
#include "tests/strategy/fake_worker.h"
#include "tests/support/simulations.h"
#include "tests/support/virtual_ranks.h"

namespace starling::strategy {
namespace {

constexpr std::size_t kCodedCount = 330;
const std::vector<Section> kCodedSections{{"weight", 0, 300, false, 20}, {"bias", 300, 30, true}};
const char* const kCodedKinds[] = {"fp16",      "bf16",           "int8",      "int8:64:stochastic", "int4",
                                   "topk:0.05", "topk:0.05+int8", "randk:0.1", "powersgd:2"};

using Vectors = std::vector<std::vector<double>>;

// What a worker contributes to a round, and what it gets.
struct Contribution {
  std::vector<float> values;
  double weight = 1;
};
using Contributions = std::function<Contribution(Rank rank, std::uint64_t round)>;

Task<> take_part(testing::FakeWorker& self, CompressionRules rules, std::uint64_t rounds, Contributions what,
                 Vectors& means) {
  AgreedExchange agreed(self, kCodedAlgorithm);
  CompressedMean mean(self, agreed, rules, layout_of(self.sections()));
  Buffer data = self.allocate(kCodedCount);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const Contribution own = what(self.rank(), round);
    std::ranges::copy(own.values, floats(data.data).begin());
    co_await mean.of(data.data, own.weight);
    means.emplace_back(floats(data.data).begin(), floats(data.data).end());
  }
}

// The means that each worker got, by round.
std::vector<Vectors> means_of(const std::string& kind, bool feedback, int workers, std::uint64_t rounds,
                              const Contributions& what) {
  const CompressionRules rules{compression::parse_rule(kind, "test"), feedback};
  testing::VirtualRanks ranks(workers);
  const RunInfo place = testing::place_of(workers, kCodedSections);
  std::deque<testing::FakeWorker> members;
  std::vector<Vectors> means(static_cast<std::size_t>(workers));
  for (Rank rank = 0; rank < workers; ++rank) {
    testing::FakeWorker& member = members.emplace_back(place, ranks.at(rank), kCodedSections);
    ranks.start(rank, take_part(member, rules, rounds, what, means[static_cast<std::size_t>(rank)]));
  }
  ranks.run();
  for (const Vectors& of_rank : means) {
    EXPECT_EQ(of_rank.size(), rounds);
    EXPECT_EQ(of_rank, means.front()) << kind;
  }
  return means;
}

std::vector<float> numbers(Rank rank, std::uint64_t round) {
  Random random(static_cast<std::uint64_t>(rank) * 1000 + round);
  std::vector<float> values(kCodedCount);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

// For some rounds the workers have something to send, then nothing: what was left out comes.
TEST(CompressedMean, NothingIsLostOnTheWay) {
  constexpr std::uint64_t kBusy = 10, kRounds = 200;
  for (const char* const kind : kCodedKinds) {
    for (const int workers : {2, 3, 5}) {
      const auto means = means_of(kind, true, workers, kRounds, [](Rank rank, std::uint64_t round) {
        return round <= kBusy ? Contribution{numbers(rank, round)}
                              : Contribution{std::vector<float>(kCodedCount)};
      });
      std::vector<double> meant(kCodedCount), got(kCodedCount);
      for (const std::vector<double>& mean : means.front()) {
        for (std::size_t i = 0; i < kCodedCount; ++i) got[i] += mean[i];
      }
      for (Rank rank = 0; rank < workers; ++rank) {
        for (std::uint64_t round = 1; round <= kBusy; ++round) {
          const std::vector<float> values = numbers(rank, round);
          for (std::size_t i = 0; i < kCodedCount; ++i) meant[i] += static_cast<double>(values[i]) / workers;
        }
      }
      for (std::size_t i = 0; i < kCodedCount; ++i) {
        ASSERT_NEAR(got[i], meant[i], 1e-4) << kind << ", " << workers << " workers, element " << i;
      }
    }
  }
}

// A worker of weight 0 has no part, whatever it has, and keeps nothing of it.
TEST(CompressedMean, WeightsCount) {
  for (const char* const kind : {"fp16", "topk:1", "powersgd:20"}) {
    const auto means = means_of(kind, true, 3, 3, [](Rank rank, std::uint64_t round) {
      const bool counts = rank != 2 || round == 2;
      const float bad = std::numeric_limits<float>::quiet_NaN();
      return Contribution{counts ? numbers(rank, round) : std::vector<float>(kCodedCount, bad),
                          counts ? 1.0 + rank : 0.0};
    });
    for (std::uint64_t round = 1; round <= 3; ++round) {
      const double all = round == 2 ? 6 : 3;
      for (std::size_t i = 0; i < kCodedCount; ++i) {
        double mean =
            (static_cast<double>(numbers(0, round)[i]) + 2 * static_cast<double>(numbers(1, round)[i])) / all;
        if (round == 2) mean += 3 * static_cast<double>(numbers(2, round)[i]) / all;
        ASSERT_NEAR(means.front()[round - 1][i], mean, 5e-3) << kind << ", round " << round;
      }
    }
  }
}

// Codes slow learning down a little, or not at all, wherever codes are sent. The rate is one that
// bears gradients that come twenty steps late.
TEST(CompressedMean, WorkersLearn) {
  const auto loss = [](const char* strategy, const OptionTexts& options) {
    sim::Simulation simulation = testing::simulation_of(find_strategy(strategy), options, 4);
    simulation.workload = sim::make_workload("logistic", {.workers = 4}, "workload");
    simulation.optimizer.learning_rate = 0.1;
    simulation.steps = 120;
    return *sim::simulate(simulation).final_train_loss;
  };
  const double plain = loss("allreduce", {}), averaged = loss("local-sgd", {{"period", "4"}});
  for (const char* const kind : {"int4", "topk:0.05+int8", "randk:0.1", "powersgd:2"}) {
    EXPECT_LT(loss("allreduce", {{"compress", kind}}), 1.1 * plain) << kind;
    EXPECT_LT(loss("ps", {{"compress-push", kind}}), 1.1 * plain) << kind;
    EXPECT_LT(loss("ps", {{"compress-pull", kind}}), 1.1 * plain) << kind;
    EXPECT_LT(loss("local-sgd", {{"period", "4"}, {"compress", kind}}), 1.1 * averaged) << kind;
  }
}

}  // namespace
}  // namespace starling::strategy
