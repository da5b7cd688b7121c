// The data set of `starling train`: the workers hold it, the launcher checks it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/cli/train_runs.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

std::size_t peak_bytes(pid_t pid) {
  std::ifstream status(concat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6)) * 1024;
  }
  return 0;
}

TEST(TrainData, TheLauncherLoadsNone) {
  STARLING_NEEDS_TRAINER();
  constexpr std::size_t kPictures = 40'000, kPictureBytes = 3 * 32 * 32;
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  const pid_t pid =
      start_program(train(concat("--workers 1 --max-seconds 100 --data noise:", kPictures, " --out ", out)));
  // The launcher writes it when the plan is complete.
  while (!fs::exists(out + "/run.json")) {
    ASSERT_EQ(waitpid(pid, nullptr, WNOHANG), 0) << "it has ended";
    usleep(1000);
  }
  const std::size_t peak = peak_bytes(pid);
  EXPECT_GT(peak, 0U);
  EXPECT_LT(peak, kPictures * kPictureBytes);
  kill(pid, SIGTERM);
  waitpid(pid, nullptr, 0);
}

TEST(TrainData, DamageInsideOfFilesIsToldOnce) {
  const TemporaryFolder folder;
  const std::string good(20 * 3073, '\0');
  std::string bad = good;
  bad[3073] = 11;
  for (int i = 1; i <= 4; ++i) folder.write(concat("data_batch_", i, ".bin"), good);
  folder.write("data_batch_5.bin", bad);
  folder.write("test_batch.bin", good);
  expect_refused(train(concat("--workers 2 --batch 4 --data cifar10:", folder.path())), "has label 11",
                 "allowed: 0 to 9");
}

}  // namespace
}  // namespace starling::cli
