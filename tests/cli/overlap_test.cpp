// Traces of simulated runs pass tools/check_overlap too.
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "tests/cli/simulate_runs.h"

namespace starling::cli {
namespace {

using testing::TemporaryFolder;

struct Checked {
  int exit_code = 0;
  std::string text;
};

Checked check_overlap(const std::string& flags) {
  const std::string command = concat(STARLING_SOURCE_DIR, "/tools/check_overlap ", flags, " 2>&1");
  Checked checked;
  FILE* const output = popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), output) != nullptr) checked.text += buffer.data();
  checked.exit_code = WEXITSTATUS(pclose(output));
  return checked;
}

Checked check_run(const std::string& flags, const std::string& wanted) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  output_of(
      simulate(concat("--workload replay:resnet50 --network 5gbit/50us --steps 4 ", flags, " --out ", out)));
  return check_overlap(concat(wanted, out, "/trace.json"));
}

TEST(Overlap, OfDearIsFound) {
  for (const char* flags : {"--workers 4", "--workers 16 --slow 3:2 --gather gradients"}) {
    const Checked checked = check_run(concat("--strategy dear ", flags), "--require-overlap ");
    EXPECT_EQ(checked.exit_code, 0) << checked.text;
    EXPECT_NE(checked.text.find("all in order"), std::string::npos) << checked.text;
  }
}

// An all-reduce before the end of the step overlaps with no forward pass.
TEST(Overlap, IsMissedWhereThereIsNone) {
  const Checked checked = check_run("--workers 4 --schedule ddp", "--require-overlap ");
  EXPECT_EQ(checked.exit_code, 1) << checked.text;
  EXPECT_NE(checked.text.find("no all-gather lies beside a forward"), std::string::npos) << checked.text;
}

TEST(Overlap, OfTheOtherSchedulesIsInOrder) {
  for (const char* schedule : {"wfbp", "ddp", "horovod", "mgwfbp", "priority"}) {
    const Checked checked = check_run(concat("--workers 4 --schedule ", schedule), "");
    EXPECT_EQ(checked.exit_code, 0) << schedule << ": " << checked.text;
  }
}

}  // namespace
}  // namespace starling::cli
