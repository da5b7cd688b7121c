// What `starling train` says about its progress.
#include "cli/train/train_progress.h"

#include <gtest/gtest.h>

#include <limits>

namespace starling::cli {
namespace {

using namespace std::chrono_literals;
using session::Progress;

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

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(TrainProgress, SaysHowFarHowFastAndHowGood) {
  const std::vector<Progress> all{status(0, 300, 1, 1s, 0s), status(1, 200, 2, 1s, 0s)};
  EXPECT_EQ(progress_text(all, 2s, 1000, 3), "2.0 s, epoch 0.50 of 3, loss 1.5, 250 samples/s");
  EXPECT_EQ(progress_text(all, 2s, 1000, {}), "2.0 s, epoch 0.50, loss 1.5, 250 samples/s");
}

TEST(TrainProgress, NamesTheSlowestIfTheOthersWait) {
  const std::vector<Progress> all{status(0, 100, 1, 2s, 100ms), status(1, 100, 1, 8s, 0s),
                                  status(2, 100, 1, 2s, 6s)};
  EXPECT_EQ(
      progress_text(all, 10s, 1000, {}),
      "10.0 s, epoch 0.30, loss 1, 30 samples/s, slowest: worker 1, the others wait 30 % of their time");
}

TEST(TrainProgress, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(progress_text({status(0, 0, kNone, 0s, 0s)}, 0s, 1000, 1), "0.0 s, epoch 0.00 of 1");
  // A worker without a loss since its last status does not count in the mean.
  EXPECT_EQ(progress_text({status(0, 10, kNone, 0s, 0s), status(1, 10, 4, 0s, 0s)}, 1s, 1000, 1),
            "1.0 s, epoch 0.02 of 1, loss 4, 20 samples/s");
}

TEST(TrainProgress, CountsTheLost) {
  Progress lost = status(1, 10, kNone, 1s, 0s);
  lost.lost = true;
  EXPECT_EQ(progress_text({status(0, 10, 2, 1s, 0s), lost}, 2s, 1000, {}),
            "2.0 s, epoch 0.02, loss 2, 10 samples/s, 1 lost");
}

}  // namespace
}  // namespace starling::cli
