// How the models of the workers become snapshots of the run.
#include "starling/session/background/snapshot_average.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>

namespace starling::session {
namespace {

constexpr Duration kSecond = std::chrono::seconds(1);

struct Room {
  std::vector<Snapshot> shown;
  std::vector<Rank> done;
  SnapshotAverage average;

  explicit Room(int workers)
      : average(
            workers, kSecond, [this](Snapshot snapshot) { shown.push_back(std::move(snapshot)); },
            [this](Rank rank) { done.push_back(rank); }) {}

  void add(Rank rank, std::uint64_t first, std::uint64_t last, std::vector<float> model, bool final = false) {
    ModelCopy copy;
    copy.first = first;
    copy.last = last;
    copy.time = static_cast<std::int64_t>(last) * kSecond;
    copy.steps = 10 * last;
    copy.losses = {.loss = 4.0 * static_cast<double>(last), .samples = last == 0 ? 0U : 2U};
    copy.final = final;
    Bytes bytes(3 + model.size() * sizeof(float));  // at an odd address
    std::memcpy(bytes.data() + 3, model.data(), model.size() * sizeof(float));
    average.add(rank, copy, std::move(bytes), 3);
  }
  std::vector<int> times() const {
    std::vector<int> seconds;
    for (const Snapshot& snapshot : shown) seconds.push_back(static_cast<int>(snapshot.time / kSecond));
    return seconds;
  }
};

TEST(SnapshotAverage, KeepsAtMostSixtyFourMultiplesOfAPowerOfTwo) {
  EXPECT_EQ(snapshot_stride(0), 1U);
  EXPECT_EQ(snapshot_stride(63), 1U);
  EXPECT_EQ(snapshot_stride(64), 2U);
  EXPECT_EQ(snapshot_stride(127), 2U);
  EXPECT_EQ(snapshot_stride(128), 4U);
  EXPECT_EQ(first_snapshot(63), 63U);
  EXPECT_EQ(first_snapshot(65), 66U);
  EXPECT_EQ(first_snapshot(127), 128U);
  for (std::uint64_t k = 0; k < 3000; k = first_snapshot(k + 1)) {
    EXPECT_EQ(k % snapshot_stride(k), 0U);
    EXPECT_LE(k / snapshot_stride(k) + 1, 64U);
  }
}

TEST(SnapshotAverage, ShowsTheMeanWhenAllAreThere) {
  Room room(2);
  room.add(0, 0, 0, {1, 2});
  EXPECT_TRUE(room.shown.empty());
  room.add(1, 0, 0, {3, 6});
  ASSERT_EQ(room.times(), std::vector<int>{0});
  EXPECT_EQ(room.shown[0].model, (std::vector<float>{2, 4}));
  EXPECT_TRUE(std::isnan(room.shown[0].loss));
  EXPECT_EQ(room.done, (std::vector<Rank>{0, 1}));
  room.add(1, 1, 1, {5, 5});
  room.add(0, 1, 1, {7, 7});
  ASSERT_EQ(room.times(), (std::vector<int>{0, 1}));
  EXPECT_EQ(room.shown[1].steps, 20U);
  EXPECT_DOUBLE_EQ(room.shown[1].loss, 2.0);
}

TEST(SnapshotAverage, OneModelMayStandForSeveralTimes) {
  Room room(2);
  for (std::uint64_t k = 0; k <= 3; ++k) room.add(0, k, k, {static_cast<float>(k)});
  room.add(1, 0, 0, {0});
  room.add(1, 1, 3, {9});
  EXPECT_EQ(room.times(), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(room.shown[1].model.front(), 5);
  EXPECT_EQ(room.shown[3].model.front(), 6);
  // The losses of a model count once.
  EXPECT_DOUBLE_EQ(room.shown[1].loss, (4.0 + 12.0) / 4);
  EXPECT_DOUBLE_EQ(room.shown[2].loss, 8.0 / 2);
}

TEST(SnapshotAverage, TheSameModelsAreShownOnceForTheLastOfTheirTimes) {
  Room room(2);
  room.add(0, 0, 4, {1});
  room.add(1, 0, 2, {3});
  EXPECT_EQ(room.times(), std::vector<int>{2});
  room.add(1, 3, 7, {5});
  EXPECT_EQ(room.times(), (std::vector<int>{2, 4}));
}

TEST(SnapshotAverage, WhoHasEndedStandsForAllLaterTimes) {
  Room room(2);
  room.add(0, 0, 0, {1}, true);
  room.add(1, 0, 0, {3});
  room.add(1, 1, 1, {5});
  EXPECT_EQ(room.times(), (std::vector<int>{0, 1}));
  EXPECT_EQ(room.shown[1].model.front(), 3);
  EXPECT_EQ(room.average.missing(), 1);
  room.add(1, 2, 1, {7}, true);
  EXPECT_EQ(room.average.missing(), std::nullopt);
  room.average.lose(1);  // it has ended before
  room.average.conclude();
  ASSERT_EQ(room.shown.size(), 3U);
  EXPECT_TRUE(room.shown[2].final);
  EXPECT_EQ(room.shown[2].model.front(), 4);
  EXPECT_EQ(room.shown[2].time, kSecond);
}

TEST(SnapshotAverage, NobodyWaitsForTheLost) {
  Room room(3);
  room.add(0, 0, 0, {1});
  room.add(2, 0, 0, {3});
  room.add(1, 0, 0, {8});
  EXPECT_EQ(room.shown[0].model.front(), 4);
  room.add(0, 1, 1, {1});
  room.add(2, 1, 1, {2});
  room.average.lose(1);
  ASSERT_EQ(room.times(), (std::vector<int>{0, 1}));
  EXPECT_EQ(room.shown[1].model.front(), 1.5F);
  room.average.lose(0);
  room.average.lose(2);
  EXPECT_EQ(room.average.missing(), std::nullopt);
  room.average.conclude();
  EXPECT_EQ(room.shown.size(), 2U);  // no final model
}

TEST(SnapshotAverage, ModelsOfDifferentSizeAreAnError) {
  Room room(2);
  room.add(0, 0, 0, {1});
  EXPECT_THROW(room.add(1, 0, 0, {1, 2}), Error);
}

// A coordinator that follows another gets models from the next ones on: worker 1's model for 4 went to the
// one before, so 4 is left out instead of being made of later models.
TEST(SnapshotAverage, BeginsWhereAllHaveSent) {
  Room room(3);
  room.average.lose(0, 35);
  room.add(2, 4, 4, {2});
  EXPECT_TRUE(room.shown.empty());
  room.add(1, 5, 5, {4});
  EXPECT_TRUE(room.shown.empty());
  room.add(2, 5, 5, {6});
  EXPECT_EQ(room.times(), (std::vector<int>{5}));
  EXPECT_EQ(room.shown[0].model, (std::vector<float>{5}));
  EXPECT_EQ(room.shown[0].steps, 35U + 50U + 50U) << "those of the lost worker count";
  EXPECT_EQ(room.average.steps(), (std::vector<std::uint64_t>{35, 50, 50}));
}

// The same with the later model first: the earlier one is done with at once, or nothing would ever be shown.
TEST(SnapshotAverage, BeginsWhereAllHaveSentInAnyOrder) {
  Room room(3);
  room.average.lose(0, 35);
  room.add(2, 5, 5, {6});
  room.add(1, 4, 4, {2});
  EXPECT_TRUE(room.shown.empty());
  EXPECT_EQ(room.done, (std::vector<Rank>{1}));
  room.add(1, 5, 5, {4});
  EXPECT_EQ(room.times(), (std::vector<int>{5}));
  EXPECT_EQ(room.shown[0].model, (std::vector<float>{5}));
}

// Worker 2's clock is three intervals behind: all its models before 5 are done with at once. If one stayed,
// those behind it would too, until the worker has as many as it may and sends no other.
TEST(SnapshotAverage, BeginsWhereAllHaveSentThoughClocksDiffer) {
  Room room(3);
  room.average.lose(0, 35);
  room.add(2, 2, 2, {1});
  room.add(1, 5, 5, {4});
  EXPECT_EQ(room.done, (std::vector<Rank>{2}));
  room.add(2, 3, 3, {1});
  room.add(2, 4, 4, {2});
  EXPECT_EQ(room.done, (std::vector<Rank>{2, 2, 2}));
  EXPECT_TRUE(room.shown.empty());
  room.add(2, 5, 5, {6});
  ASSERT_EQ(room.times(), (std::vector<int>{5}));
  EXPECT_EQ(room.shown[0].model, (std::vector<float>{5}));
}

}  // namespace
}  // namespace starling::session
