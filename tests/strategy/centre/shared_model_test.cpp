// A model in shared memory, updated by processes at the same time.
#include "starling/strategy/centre/shared_model.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <cstring>

#include "starling/core/shared_update.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/run.h"
#include "tests/strategy/fake_worker.h"
#include "tests/support/check.h"

namespace starling::strategy {
namespace {

using launch::ForkedRanks;
using testing::check;
using testing::FakeWorker;
using transport::Transport;

constexpr std::size_t kElements = 3 * SharedModel::kBlockElements + 1234, kBlocks = 4;
const std::optional<Time> kBetweenSteps = Time{};

// What the processes leave for the test to look at.
template <class Content>
class Outcome {
 public:
  Outcome()
      : at_(::mmap(nullptr, sizeof(Content), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~Outcome() { ::munmap(at_, sizeof(Content)); }
  Outcome(const Outcome&) = delete;
  Outcome& operator=(const Outcome&) = delete;
  Content* operator->() const { return static_cast<Content*>(at_); }

 private:
  void* at_;
};

RunInfo zeros(int workers) {
  RunInfo place = testing::place_of(workers, {{"x", 0, kElements}});
  place.initial_model.assign(kElements, 0.0F);
  return place;
}

// All but the one that is killed.
void expect_all_good(ForkedRanks& ranks, Rank except = -1) {
  const auto outcomes = ranks.wait();
  for (Rank rank = 0; rank < static_cast<Rank>(outcomes.size()); ++rank) {
    const auto& outcome = outcomes[static_cast<std::size_t>(rank)];
    EXPECT_TRUE(rank == except ? outcome.signal == SIGKILL : outcome.good())
        << "rank " << rank << ": " << outcome.error;
  }
}

// Rank 0 returns last.
Task<> all_are_done(Transport& net) {
  if (net.rank() > 0) co_return co_await net.send(0, 1, {});
  for (Rank other = 1; other < net.size(); ++other) co_await net.recv(other, 1, {});
}

constexpr int kVisitors = 4, kVisits = 40;

// For each block, in the order of the visits: which number the visitor pulled the block towards.
struct Log {
  std::array<std::array<float, kVisitors * kVisits>, kBlocks> targets;
  std::array<float, kElements> model;
};

Task<> pull_towards_own_numbers(FakeWorker& worker, Log& log) {
  SharedModel shared(worker, {.locked = true}, kBetweenSteps);
  co_await shared.open("model");
  std::vector<float> x(kElements), difference(kElements);
  for (int visit = 0; visit < kVisits; ++visit) {
    const auto target = static_cast<float>(worker.random().uniform());
    std::ranges::fill(x, target);
    const SharedModel::Update pull = [&](Data centre, Slice place) {
      elastic_difference(floats(centre), std::span(x).subspan(place.begin, place.size()), 0.3F,
                         std::span(difference).subspan(place.begin, place.size()));
    };
    co_await shared.visit(pull);
    for (std::size_t block = 0; block < kBlocks; ++block)
      log.targets[block].at(shared.last_visits()[block] - 1) = target;
  }
  shared.leave();
  co_await all_are_done(worker.net());
  if (worker.rank() == 0) std::ranges::copy(floats(shared.model()), log.model.begin());
}

// Each block's updates are as if they had been made one after the other, in the order of their numbers.
TEST(SharedModel, IsLinearisableByBlock) {
  const Outcome<Log> log;
  const RunInfo place = zeros(kVisitors);
  ForkedRanks ranks(kVisitors, [&](Transport& net) {
    FakeWorker worker(place, net);
    runtime::run(net.scheduler(), pull_towards_own_numbers(worker, *log.operator->()));
  });
  expect_all_good(ranks);
  for (std::size_t block = 0; block < kBlocks; ++block) {
    float centre = 0;
    for (const float target : log->targets[block]) {
      ASSERT_NE(target, 0) << "a visit of block " << block << " has no number of its own";
      centre += 0.3F * (target - centre);
    }
    const std::size_t end = std::min(kElements, (block + 1) * SharedModel::kBlockElements);
    for (std::size_t i = block * SharedModel::kBlockElements; i < end; ++i)
      ASSERT_EQ(log->model[i], centre) << i;
  }
}

struct Counts {
  std::array<float, kElements> model;
};

// Worker i of n adds 1 to every n-th element, from the i-th on.
Task<> count_own_elements(FakeWorker& worker, bool locked, Counts& counts) {
  SharedModel shared(worker, {.locked = locked}, kBetweenSteps);
  co_await shared.open("model");
  const auto first = static_cast<std::size_t>(worker.rank());
  const SharedModel::Update add = [&](Data model, Slice place) {
    for (std::size_t i = 0; i < place.size(); ++i) {
      if ((place.begin + i) % kVisitors != first) continue;
      std::span<float> one = floats(model).subspan(i, 1);
      float own = one[0] + 1, was = one[0];
      merge_change(one, {&own, 1}, {&was, 1});
    }
  };
  for (int visit = 0; visit < kVisits; ++visit) co_await shared.visit(add);
  shared.leave();
  co_await all_are_done(worker.net());
  if (worker.rank() == 0) std::ranges::copy(floats(shared.model()), counts.model.begin());
}

TEST(SharedModel, DisjointUpdatesWithoutLocksAreThoseWithLocks) {
  for (const bool locked : {true, false}) {
    const Outcome<Counts> counts;
    const RunInfo place = zeros(kVisitors);
    ForkedRanks ranks(kVisitors, [&](Transport& net) {
      FakeWorker worker(place, net);
      runtime::run(net.scheduler(), count_own_elements(worker, locked, *counts.operator->()));
    });
    expect_all_good(ranks);
    for (const float count : counts->model) ASSERT_EQ(count, kVisits) << (locked ? "locked" : "wild");
  }
}

// The victim dies in the middle of its update of a block, with the lock in its hands.
Task<> visit_until_death(FakeWorker& worker, Rank victim, int last_visit, std::size_t last_block) {
  SharedModel shared(worker, {.locked = true}, kBetweenSteps);
  co_await shared.open("model");
  for (int visit = 0; visit < 6; ++visit) {
    const SharedModel::Update update = [&](Data model, Slice place) {
      const std::span<float> values = floats(model);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool here = visit == last_visit && place.begin == last_block * SharedModel::kBlockElements;
        if (worker.rank() == victim && here && i == values.size() / 2) raise(SIGKILL);
        values[i] += 1;
      }
    };
    co_await shared.visit(update);
  }
  shared.leave();
}

TEST(SharedModel, NobodyWaitsForTheLockOfTheDead) {
  constexpr int kRanks = 3;
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(round);
    Random random(static_cast<std::uint64_t>(round));
    const Rank victim = random.between(0, kRanks - 1);
    const int visit = random.between(0, 5);
    const auto block = static_cast<std::size_t>(random.between(0, kBlocks - 1));
    const RunInfo place = zeros(kRanks);
    ForkedRanks ranks(kRanks, [&](Transport& net) {
      FakeWorker worker(place, net);
      runtime::run(net.scheduler(), visit_until_death(worker, victim, visit, block));
    });
    expect_all_good(ranks, victim);
  }
}

// The lowest worker, which would make the model, dies before it has.
TEST(SharedModel, TheNextWorkerMakesTheModel) {
  const RunInfo place = zeros(3);
  ForkedRanks ranks(3, [&](Transport& net) {
    if (net.rank() == 0) raise(SIGKILL);
    FakeWorker worker(place, net);
    SharedModel shared(worker, {}, kBetweenSteps);
    runtime::run(net.scheduler(), shared.open("model"));
    check(shared.model().bytes != nullptr, "the model is there");
  });
  expect_all_good(ranks, 0);
}

}  // namespace
}  // namespace starling::strategy
