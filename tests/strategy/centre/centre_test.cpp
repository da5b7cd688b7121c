// The vectors of elastic averaging, on every kind of centre.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>

#include "starling/strategy/centre/replicated_centre.h"
#include "starling/strategy/centre/served_centre.h"
#include "starling/strategy/centre/shared_centre.h"
#include "tests/strategy/fake_worker.h"

namespace starling::strategy {
namespace {

using testing::FakeWorker;
using testing::VirtualRanks;

constexpr int kWorkers = 3;
constexpr std::size_t kSame = 5;  // all elements of a model are the same number
constexpr float kRate = 0.1F;
constexpr std::array<float, kWorkers> kStart{0, 0.5F, -1}, kTarget{1, 2, 3};
constexpr std::array<Rank, 9> kArrivals{0, 2, 1, 1, 0, 2, 0, 1, 2};

enum class Kind { kShared, kWild, kSharded, kServer };

// Three workers with the gradient x_i - c_i, and their exchanges.
class Elastic {
 public:
  explicit Elastic(float momentum, float alpha = 0.2F)
      : momentum_(momentum), alpha_(alpha), ranks_(kWorkers + 1) {
    place_ = testing::place_of(kWorkers, {{"x", 0, kSame}});
    place_.initial_model.assign(kSame, 0.0F);
    place_.server = kWorkers;
    place_.host_of_rank.push_back(kWorkers);
    for (Rank rank = 0; rank <= kWorkers; ++rank)
      workers_.push_back(std::make_unique<FakeWorker>(place_, ranks_.at(rank)));
    for (std::size_t i = 0; i < kWorkers; ++i) {
      std::ranges::fill(floats(workers_[i]->parameters()), kStart[i]);
      difference_.push_back(workers_[i]->allocate(kSame));
    }
  }

  template <class Make>
  void make_centres(const Make& make) {
    for (std::size_t i = 0; i < kWorkers; ++i) centres_.push_back(make(*workers_[i]));
  }

  void make_centres(Kind kind) {
    if (kind == Kind::kSharded || kind == Kind::kServer) {
      const CentrePlace place = kind == Kind::kServer ? CentrePlace::kServer : CentrePlace::kSharded;
      make_centres([&](Worker& worker) -> std::unique_ptr<Centre> {
        return std::make_unique<ServedCentre>(worker, place, CentreOrder::kAnyTime, now_);
      });
      if (kind == Kind::kServer) serve();
      return;
    }
    make_centres([&](Worker& worker) -> std::unique_ptr<Centre> {
      return std::make_unique<SharedCentre>(worker, SharedModel::Rules{.locked = kind == Kind::kShared},
                                            now_);
    });
    ranks_.run_all([&](Rank rank, transport::Transport&) { return open(rank); });
  }

  // The exchange of one worker, and its step.
  Task<> visit(Rank rank) {
    const auto i = static_cast<std::size_t>(rank);
    co_await centres_[i]->pull(workers_[i]->parameters(), alpha_, difference_[i].data);
    for (float& x : floats(workers_[i]->parameters())) {
      if (&x == floats(workers_[i]->parameters()).data())
        speed_[i] = momentum_ * speed_[i] - kRate * (x - kTarget[i]);
      x += speed_[i];
    }
    take_away(difference_[i].data, workers_[i]->parameters());
  }

  Task<> visit_in_order(std::size_t arrivals) {
    for (std::size_t i = 0; i < arrivals; ++i) co_await visit(kArrivals[i]);
  }

  Task<> visit_in_rounds(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (Rank rank = 0; rank < kWorkers; ++rank) co_await visit(rank);
    }
  }

  void run(Rank rank, Task<> task) {
    ranks_.start(rank, std::move(task));
    ranks_.run();
    if (ranks_.error(rank)) std::rethrow_exception(ranks_.error(rank));
  }
  void run_together(int steps) {
    for (int step = 0; step < steps; ++step) {
      ranks_.run_all(
          [&](Rank rank, transport::Transport&) { return rank < kWorkers ? visit(rank) : nothing(); });
    }
  }

  float model(std::size_t i) { return floats(workers_[i]->parameters()).back(); }
  // A model of zeros that pulls with all its strength takes the centre's place.
  float centre() {
    std::ranges::fill(floats(workers_[0]->parameters()), 0.0F);
    run(0, centres_[0]->pull(workers_[0]->parameters(), 1, difference_[0].data));
    return -floats(difference_[0].data).back();
  }

 private:
  static Task<> nothing() { co_return; }
  Task<> open(Rank rank) {
    if (rank < kWorkers)
      co_await static_cast<SharedCentre&>(*centres_[static_cast<std::size_t>(rank)]).open();
  }
  void serve() {
    const SliceMap map(*workers_[kWorkers], kSame, CentrePlace::kServer);
    ranks_.start_beside(kWorkers,
                        CentreService::serve(
                            std::make_shared<CentreService>(*workers_[kWorkers], map, CentreOrder::kAnyTime)),
                        "service");
  }

  float momentum_;
  float alpha_;
  VirtualRanks ranks_;
  RunInfo place_;
  std::vector<std::unique_ptr<FakeWorker>> workers_;
  std::vector<std::unique_ptr<Centre>> centres_;
  std::vector<Buffer> difference_;
  std::array<float, kWorkers> speed_{};
  const std::optional<Time> now_ = Time{};
};

std::string kind_name(const ::testing::TestParamInfo<Kind>& info) {
  constexpr std::array<const char*, 4> kNames{"shared", "wild", "sharded", "server"};
  return kNames.at(static_cast<std::size_t>(info.param));
}

class AnyCentre : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, AnyCentre,
                         ::testing::Values(Kind::kShared, Kind::kWild, Kind::kSharded, Kind::kServer),
                         kind_name);

struct Expected {
  std::array<double, kWorkers> models;
  double centre;
};

void expect_state(Elastic& elastic, const Expected& expected) {
  for (std::size_t i = 0; i < kWorkers; ++i)
    EXPECT_NEAR(elastic.model(i), expected.models[i], 2e-7) << "worker " << i;
  EXPECT_NEAR(elastic.centre(), expected.centre, 2e-7);
}

TEST_P(AnyCentre, AsynchronousEasgdGivesTheReferenceValues) {
  const std::array<std::pair<std::size_t, Expected>, 3> after{
      {{3, {{0.1, 0.51, -0.4}, -0.06}},
       {6, {{0.1808, 0.545, 0.03264}, -0.02944}},
       {9, {{0.220672, 0.5840216, 0.34666528}, 0.10179712}}}};
  for (const auto& [arrivals, expected] : after) {
    SCOPED_TRACE(arrivals);
    Elastic elastic(0);
    elastic.make_centres(GetParam());
    elastic.run(0, elastic.visit_in_order(arrivals));
    expect_state(elastic, expected);
  }
}

TEST_P(AnyCentre, AsynchronousMeasgdGivesTheReferenceValues) {
  Elastic elastic(0.9F);
  elastic.make_centres(GetParam());
  elastic.run(0, elastic.visit_in_order(kArrivals.size()));
  expect_state(elastic, {{0.44567200, 0.93772160, 1.23694528}, 0.20691712});
}

std::unique_ptr<Centre> replicated(Worker& worker) {
  static const std::optional<Time> now = Time{};
  return std::make_unique<ReplicatedCentre>(worker, collective::Choice(), now);
}

TEST(ReplicatedCentre, SynchronousEasgdGivesTheReferenceValues) {
  const std::array<Expected, 3> after{
      {{{0.1, 0.55, -0.4}, -0.1}, {{0.15, 0.565, 0}, 0.01}, {{0.207, 0.5975, 0.302}, 0.147}}};
  for (int steps = 1; steps <= 3; ++steps) {
    Elastic elastic(0);
    elastic.make_centres(replicated);
    elastic.run_together(steps);
    for (std::size_t i = 0; i < kWorkers; ++i) {
      EXPECT_NEAR(elastic.model(i), after[static_cast<std::size_t>(steps) - 1].models[i], 2e-7);
    }
  }
}

TEST(ReplicatedCentre, SynchronousMeasgdGivesTheReferenceValues) {
  Elastic elastic(0.9F);
  elastic.make_centres(replicated);
  elastic.run_together(3);
  EXPECT_NEAR(elastic.model(0), 0.432, 2e-7);
  EXPECT_NEAR(elastic.model(1), 0.944, 2e-7);
  EXPECT_NEAR(elastic.model(2), 1.184, 2e-7);
}

TEST(ReplicatedCentre, SynchronousEasgdEndsAtItsFixedPoint) {
  for (const auto& [momentum, first] : {std::pair(0.0F, 5.0 / 3), std::pair(0.9F, 7.0 / 6)}) {
    Elastic elastic(momentum);
    elastic.make_centres(replicated);
    elastic.run_together(600);
    EXPECT_NEAR(elastic.model(0), first, 1e-5);
    EXPECT_NEAR(elastic.model(1), 2, 1e-5);
    EXPECT_NEAR(elastic.model(2), 4 - first, 1e-5);
  }
}

// The step is stable for alpha < 2 (2 - a) / (2 + p (2 - a)), which is 0.4935 here.
TEST(ReplicatedCentre, SynchronousEasgdIsStableUpToTheBorder) {
  for (const float alpha : {0.48F, 0.51F}) {
    Elastic elastic(0, alpha);
    elastic.make_centres(replicated);
    elastic.run_together(400);
    EXPECT_EQ(std::abs(elastic.model(1) - 2) < 0.1, alpha < 0.4935F) << alpha << ": " << elastic.model(1);
  }
}

TEST_P(AnyCentre, WholeRoundsEndAtTheirFixedPoint) {
  Elastic elastic(0);
  elastic.make_centres(GetParam());
  elastic.run(0, elastic.visit_in_rounds(300));
  for (const auto& [i, expected] : {std::pair(0, 1.697306), std::pair(1, 1.984152), std::pair(2, 2.318542)}) {
    EXPECT_NEAR(elastic.model(static_cast<std::size_t>(i)), expected, 1e-5) << i;
  }
  EXPECT_NEAR(elastic.centre(), 2.045959, 1e-5);
}

// With an odd number of workers in turn, alpha < (4 - 2a) / (4 - a) is necessary: 0.9744 here.
TEST_P(AnyCentre, RoundsAreStableUpToTheBorder) {
  for (const float alpha : {0.96F, 0.99F}) {
    Elastic elastic(0, alpha);
    elastic.make_centres(GetParam());
    elastic.run(0, elastic.visit_in_rounds(2000));
    EXPECT_EQ(std::abs(elastic.model(1)) < 10, alpha < 0.9744F) << alpha << ": " << elastic.model(1);
  }
}

}  // namespace
}  // namespace starling::strategy
