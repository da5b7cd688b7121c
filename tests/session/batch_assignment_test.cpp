#include "starling/session/batch_assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "starling/core/random.h"
#include "tests/support/refusal.h"

namespace starling::session {
namespace {

using Kind = Share::Kind;

TEST(EqualShares, AreEveryNthBatchOfThoseThatGoRound) {
  EXPECT_EQ(equal_share(1, 3, 10, 0), (Share{Kind::kBatch, 1}));
  EXPECT_EQ(equal_share(1, 3, 10, 2), (Share{Kind::kBatch, 7}));
  EXPECT_EQ(equal_share(1, 3, 10, 3), (Share{Kind::kEnd, 0}));
  EXPECT_EQ(equal_share(0, 3, 10, 3), (Share{Kind::kEnd, 0}));  // batch 9 is given to no worker
}

TEST(EqualShares, NeedABatchForEveryone) {
  EXPECT_EQ(testing::refusal([] { equal_share(0, 4, 3, 0); }),
            "an epoch of 3 batches for 4 workers; allowed: at least one batch for each");
}

// The batches of each worker in an epoch.
struct Result {
  std::vector<std::vector<std::uint64_t>> batches;
  std::vector<std::uint64_t> rounds;  // before the end
};

void expect_each_once(const Result& result, std::uint64_t batches) {
  std::multiset<std::uint64_t> all;
  for (const auto& own : result.batches) all.insert(own.begin(), own.end());
  ASSERT_EQ(all.size(), batches);
  EXPECT_EQ(std::set<std::uint64_t>(all.begin(), all.end()).size(), batches);
  EXPECT_EQ(all.empty() ? batches : *all.rbegin() + 1, batches);
}

// Asks in a random order, in which some workers come up to ten times as often, until all are at the end of
// all epochs. In lockstep no worker begins a round before all have finished the one before.
std::vector<Result> play(std::uint64_t seed, bool lockstep, int workers,
                         const std::vector<std::uint64_t>& epochs) {
  Random random(seed);
  BatchAssignment dispenser(workers, lockstep);
  const auto n = static_cast<std::size_t>(workers);
  std::vector<int> eager(n);
  for (int& often : eager) often = random.between(1, 10);
  std::vector<Result> results(
      epochs.size(), Result{std::vector<std::vector<std::uint64_t>>(n), std::vector<std::uint64_t>(n)});
  std::vector<std::size_t> epoch(n);
  std::vector<std::uint64_t> asked(n);
  while (*std::min_element(epoch.begin(), epoch.end()) < epochs.size()) {
    const auto worker = static_cast<std::size_t>(random.between(0, workers - 1));
    if (epoch[worker] == epochs.size() || !random.chance(eager[worker] / 10.0)) continue;
    if (lockstep && asked[worker] > *std::min_element(asked.begin(), asked.end())) continue;
    ++asked[worker];
    const std::size_t e = epoch[worker];
    const auto share = dispenser.next(static_cast<Rank>(worker), e, epochs[e]);
    if (share->kind == Kind::kEnd) {
      ++epoch[worker];
      continue;
    }
    ++results[e].rounds[worker];
    if (share->kind == Kind::kBatch) results[e].batches[worker].push_back(share->batch);
  }
  return results;
}

TEST(BatchAssignment, GivesEveryBatchOnceWhoeverAsks) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed + 1'000'000);
    const int workers = random.between(1, 8);
    std::vector<std::uint64_t> epochs(static_cast<std::size_t>(random.between(1, 5)));
    for (auto& batches : epochs) batches = static_cast<std::uint64_t>(random.between(0, 60));
    for (const bool lockstep : {false, true}) {
      SCOPED_TRACE(lockstep ? seed : -seed);
      const std::vector<Result> results = play(seed, lockstep, workers, epochs);
      for (std::size_t e = 0; e < epochs.size(); ++e) {
        expect_each_once(results[e], epochs[e]);
        if (!lockstep) continue;
        for (const std::uint64_t rounds : results[e].rounds) {
          EXPECT_EQ(rounds, results[e].rounds.front());
          EXPECT_EQ(rounds, (epochs[e] + static_cast<std::uint64_t>(workers) - 1) /
                                static_cast<std::uint64_t>(workers));
        }
      }
    }
  }
}

// Workers that meet only now and then may be rounds apart and still make equally many.
TEST(BatchAssignment, LockstepCountsRoundsEvenIfWorkersAreFarApart) {
  BatchAssignment dispenser(2, true);
  for (std::uint64_t batch = 0; batch < 4; ++batch) {
    EXPECT_EQ(dispenser.next(0, 1, 5), (Share{Kind::kBatch, batch}));
  }
  EXPECT_EQ(dispenser.next(1, 1, 5), (Share{Kind::kBatch, 4}));
  EXPECT_EQ(dispenser.next(0, 1, 5), (Share{Kind::kEnd, 0}));
  for (int round = 2; round <= 4; ++round) EXPECT_EQ(dispenser.next(1, 1, 5), (Share{Kind::kEmpty, 0}));
  EXPECT_EQ(dispenser.next(1, 1, 5), (Share{Kind::kEnd, 0}));
}

TEST(BatchAssignment, AFastWorkerMayBeEpochsAhead) {
  BatchAssignment dispenser(2, false);
  EXPECT_EQ(dispenser.next(1, 0, 2), (Share{Kind::kBatch, 0}));  // computes it for long
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    for (std::uint64_t batch = epoch == 0 ? 1 : 0; batch < 2; ++batch) {
      EXPECT_EQ(dispenser.next(0, epoch, 2), (Share{Kind::kBatch, batch}));
    }
    EXPECT_EQ(dispenser.next(0, epoch, 2), (Share{Kind::kEnd, 0}));
  }
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    EXPECT_EQ(dispenser.next(1, epoch, 2), (Share{Kind::kEnd, 0}));
  }
  EXPECT_EQ(dispenser.next(1, 4, 2), (Share{Kind::kBatch, 0}));
}

TEST(BatchAssignment, AnotherNumberOfBatchesIsNotAnswered) {
  BatchAssignment dispenser(2, true);
  EXPECT_TRUE(dispenser.next(0, 0, 8));
  EXPECT_FALSE(dispenser.next(1, 0, 9));
  EXPECT_EQ(dispenser.batches_of(0), 8U);
}

ShareReport report_of(std::uint64_t epoch, std::uint64_t rounds, std::vector<std::uint64_t> given) {
  return {.epoch = epoch, .batches = 6, .rounds = rounds, .rounds_before = 0, .given = std::move(given)};
}

// Of six batches the living were given three; rank 0, which is dead, perhaps others.
TEST(BatchAssignment, AnotherCoordinatorGivesOutWhatTheLivingWereNotGiven) {
  BatchAssignment rest(3, false, {{1, report_of(2, 2, {1, 4})}, {2, report_of(2, 1, {2})}});
  EXPECT_EQ(rest.next(2, 2, 6), (Share{Kind::kBatch, 0}));
  EXPECT_EQ(rest.next(1, 2, 6), (Share{Kind::kBatch, 3}));
  EXPECT_EQ(rest.next(1, 2, 6), (Share{Kind::kBatch, 5}));
  EXPECT_EQ(rest.next(2, 2, 6), (Share{Kind::kEnd, 0}));
  EXPECT_EQ(rest.next(2, 3, 6), (Share{Kind::kBatch, 0})) << "the next epoch is whole";
}

TEST(BatchAssignment, EpochsThatOneHasLeftHaveNothingMore) {
  BatchAssignment rest(3, false, {{1, report_of(2, 1, {0})}, {2, report_of(1, 2, {3, 4})}});
  EXPECT_EQ(rest.next(2, 1, 6), (Share{Kind::kEnd, 0}));
  EXPECT_EQ(rest.next(2, 2, 6), (Share{Kind::kBatch, 1}));
}

// Worker 1 is an epoch ahead after three shares: worker 2, which has had two, needs one more.
TEST(BatchAssignment, InLockstepAllMakeTheStepsOfTheEpochBefore) {
  ShareReport ahead = report_of(1, 1, {0});
  ahead.rounds_before = 3;
  BatchAssignment rest(3, true, {{1, ahead}, {2, report_of(0, 2, {3, 4})}});
  EXPECT_EQ(rest.next(2, 0, 6), (Share{Kind::kEmpty, 0}));
  EXPECT_EQ(rest.next(2, 0, 6), (Share{Kind::kEnd, 0}));
}

TEST(ShareReports, AreOfTheLastEpoch) {
  ShareReport report;
  report.note(0, 6, {Kind::kBatch, 2});
  report.note(0, 6, {Kind::kEmpty, 0});
  report.note(0, 6, {Kind::kEnd, 0});
  EXPECT_EQ(report.rounds, 2U);
  report.note(1, 6, {Kind::kBatch, 5});
  EXPECT_EQ(report.epoch, 1U);
  EXPECT_EQ(report.rounds, 1U);
  EXPECT_EQ(report.rounds_before, 2U);
  EXPECT_EQ(report.given, (std::vector<std::uint64_t>{5}));
}

TEST(BatchAssignment, KnowsHowFarItHasGot) {
  BatchAssignment assignment(2, true);
  EXPECT_EQ(assignment.position(), (SharePosition{0, 0}));
  for (const Rank worker : {0, 1, 0}) assignment.next(worker, 0, 3);
  EXPECT_EQ(assignment.position(), (SharePosition{0, 3}));
  assignment.next(0, 1, 3);
  EXPECT_EQ(assignment.position(), (SharePosition{1, 1}));
}

// Worker 1, which lives, was given batch 2; the others are given out again.
TEST(BatchAssignment, KnowsHowFarAnotherHasGot) {
  BatchAssignment assignment(2, true, {{1, {.epoch = 4, .batches = 5, .rounds = 1, .given = {2}}}});
  EXPECT_EQ(assignment.position(), (SharePosition{4, 1}));
  assignment.next(1, 4, 5);
  EXPECT_EQ(assignment.position(), (SharePosition{4, 2}));
}

}  // namespace
}  // namespace starling::session
