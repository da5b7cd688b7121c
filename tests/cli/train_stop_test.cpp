// Workers of `starling train` that are stopped, for a while or for good.
#include <signal.h>
#include <unistd.h>

#include <map>

#include "tests/cli/train_runs.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

constexpr int kStopped = 1;

// Returns once the run has begun.
void wait_for_checkpoint(RunningProgram& program, const std::string& out) {
  while (!fs::exists(out + "/checkpoints/latest.json") && !program.ended()) usleep(1'000);
}

// Stops a worker once the run has begun. Its process; 0 if the run ended before.
pid_t stop_one(RunningProgram& program, const std::string& out) {
  wait_for_checkpoint(program, out);
  const std::map<int, pid_t> processes = processes_of(program.pid());
  const auto found = processes.find(kStopped);
  if (found == processes.end()) return 0;
  kill(found->second, SIGSTOP);
  return found->second;
}

std::string flags(const TemporaryFolder& folder, const std::string& strategy, const std::string& out) {
  return concat("--model mlp --workers 3 --batch 8 --pace 20ms --checkpoint-every 5 --steps 60",
                few_pictures(folder), " --strategy ", strategy, " --out ", out);
}

TEST(TrainStop, TheOthersEndAWorkerThatStandsStill) {
  STARLING_NEEDS_TRAINER();
  for (const char* const strategy : {"dpsgd", "adpsgd", "ripples", "ps --mode bsp --servers 1"}) {
    SCOPED_TRACE(strategy);
    const TemporaryFolder folder;
    const std::string out = folder.path() + "/run";
    RunningProgram program(train(flags(folder, strategy, out)), {"STARLING_STALL=2s"});
    ASSERT_GT(stop_one(program, out), 0) << program.wait().err;
    const Ran ran = program.wait();
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_NE(ran.err.find("rank 1 ended with signal 9 (Killed); the others go on"), std::string::npos)
        << ran.err;
    EXPECT_NE(ran.err.find("has stood still for 2 s and is ended"), std::string::npos) << ran.err;
    EXPECT_TRUE(summary_in(out)["ended"].contains(std::to_string(kStopped)));
  }
}

TEST(TrainStop, AWorkerThatGoesOnIsWaitedFor) {
  STARLING_NEEDS_TRAINER();
  for (const char* const strategy : {"allreduce", "dear", "local-sgd", "ripples"}) {
    SCOPED_TRACE(strategy);
    const TemporaryFolder folder;
    const std::string out = folder.path() + "/run";
    RunningProgram program(train(flags(folder, strategy, out)));
    const pid_t stopped = stop_one(program, out);
    ASSERT_GT(stopped, 0) << program.wait().err;
    usleep(300'000);
    kill(stopped, SIGCONT);
    const Ran ran = program.wait();
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_TRUE(summary_in(out)["ended"].empty()) << summary_in(out)["ended"];
  }
}

}  // namespace
}  // namespace starling::cli
