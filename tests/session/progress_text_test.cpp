#include "starling/session/progress_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace starling::session {
namespace {

using namespace std::chrono_literals;

Progress status(Rank rank, std::uint64_t samples, double loss, Duration computing, Duration waiting) {
  Progress status;
  status.rank = rank;
  status.steps = 10;
  status.samples = samples;
  status.loss = loss;
  status.computing = computing;
  status.waiting = waiting;
  return status;
}

ProgressGoal epochs(std::optional<std::uint64_t> count) {
  return {.samples_per_epoch = 1000, .epochs = count};
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(ProgressText, SaysHowFarHowFastAndHowGood) {
  const std::vector<Progress> all{status(0, 300, 1, 1s, 0s), status(1, 200, 2, 1s, 0s)};
  EXPECT_EQ(progress_text(all, 2s, epochs(3)),
            "2.0 s, epoch 0.50 of 3 (17 %, 10 s left), loss 1.5, 250 samples/s");
  EXPECT_EQ(progress_text(all, 2s, epochs({})), "2.0 s, epoch 0.50, loss 1.5, 250 samples/s");
}

TEST(ProgressText, NamesTheSlowestIfTheOthersWait) {
  const std::vector<Progress> all{status(0, 100, 1, 2s, 100ms), status(1, 100, 1, 8s, 0s),
                                  status(2, 100, 1, 2s, 6s)};
  EXPECT_EQ(
      progress_text(all, 10s, epochs({})),
      "10.0 s, epoch 0.30, loss 1, 30 samples/s, slowest: worker 1, the others wait 30 % of their time");
}

TEST(ProgressText, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(progress_text({status(0, 0, kNone, 0s, 0s)}, 0s, epochs(1)), "0.0 s, epoch 0.00 of 1");
  // A worker without a loss since its last status does not count in the mean.
  EXPECT_EQ(progress_text({status(0, 10, kNone, 0s, 0s), status(1, 10, 4, 0s, 0s)}, 1s, epochs(1)),
            "1.0 s, epoch 0.02 of 1 (2 %, 49 s left), loss 4, 20 samples/s");
}

// The worker that is furthest behind counts; of two ends the nearer.
TEST(ProgressText, SaysWhatIsLeftWhereTheEndIsKnown) {
  Progress slow = status(1, 10, 2, 1s, 0s);
  slow.steps = 5;
  const std::vector<Progress> all{status(0, 10, 2, 1s, 0s), slow};
  EXPECT_EQ(progress_text(all, 2s, {}), "2.0 s, step 5, loss 2, 10 samples/s");
  EXPECT_EQ(progress_text(all, 2s, {.steps = 20}),
            "2.0 s, step 5 of 20 (25 %, 6 s left), loss 2, 10 samples/s");
  EXPECT_EQ(progress_text(all, 2s, {.steps = 20, .time = 4s}),
            "2.0 s, step 5 of 20 (50 %, 2 s left), loss 2, 10 samples/s");
  EXPECT_EQ(progress_text(all, 100s, {.steps = 1000}),
            "100.0 s, step 5 of 1000 (0 %, 5 h 31 min left), loss 2, 0 samples/s");
}

TEST(ProgressText, CountsTheLost) {
  Progress lost = status(1, 10, kNone, 1s, 0s);
  lost.lost = true;
  EXPECT_EQ(progress_text({status(0, 10, 2, 1s, 0s), lost}, 2s, epochs({})),
            "2.0 s, epoch 0.02, loss 2, 10 samples/s, 1 lost");
}

}  // namespace
}  // namespace starling::session
