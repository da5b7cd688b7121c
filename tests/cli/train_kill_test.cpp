// Workers of `starling train` that die at any time. STARLING_KILL_RUNS is the number of random runs (6); run
// N is the same each time, except for the machine's timing.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "starling/core/random.h"
#include "tests/cli/train_runs.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

constexpr int kWorkers = 3;
// Most of a step is slept, so that many of these runs fit on a small machine.
constexpr const char* kKilledRun = "--model mlp --workers 3 --batch 8 --pace 20ms";

std::set<std::string> shared_memory() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator("/dev/shm")) names.insert(entry.path().filename().string());
  return names;
}

// Nothing of the run is left but its files, which are complete.
void expect_nothing_left(pid_t launcher, const std::string& out, const std::set<std::string>& memory_before) {
  EXPECT_TRUE(processes_of(launcher).empty());
  for (const std::string& file : files_below(out)) EXPECT_FALSE(file.ends_with(".part")) << file;
  for (const std::string& name : shared_memory()) {
    EXPECT_TRUE(memory_before.contains(name) || name.find("starling") == std::string::npos) << name;
  }
}

struct Case {
  const char* strategy;
  int lowest_rank;  // of those that are killed
  bool goes_on;
};

constexpr Case kCases[] = {{"allreduce", 0, true},
                           {"dear", 0, true},
                           {"dpsgd", 0, true},
                           {"ps --mode asp --servers 1", 0, true},
                           {"ps --mode bsp --servers 0", 1, true},
                           {"local-sgd --period 4", 0, true},
                           {"ripples", 0, true}};

void expect_end(const Ran& ran, const Case& of, int rank, const std::string& out) {
  const std::string line = concat("starling: rank ", rank, " ended with signal 9 (Killed)",
                                  of.goes_on ? "; the others go on" : "", "\n");
  EXPECT_NE(ran.err.find(line), std::string::npos) << ran.err;
  EXPECT_EQ(ran.exit_code, of.goes_on ? 0 : 137) << ran.err;
  EXPECT_EQ(fs::exists(out + "/summary.json"), of.goes_on);
  if (!of.goes_on || !fs::exists(out + "/summary.json")) return;
  EXPECT_TRUE(summary_in(out)["ended"].contains(std::to_string(rank)));
  EXPECT_TRUE(summary_in(out)["test_accuracy"].is_number());
  EXPECT_FALSE(model_of(out).empty());
}

// When the killed were killed.
struct Tally {
  int starting = 0, training = 0, over = 0;
};

// A run has to begin with all of them: a process that dies while they meet ends it, whatever the strategy.
bool ended_before_it_began(const Ran& ran, int rank, const std::string& out) {
  return ran.exit_code != 0 && !fs::exists(out + "/summary.json") &&
         ran.err.find(concat("starling: rank ", rank, " ended with signal 9 (Killed)")) != std::string::npos;
}

// Called when all processes exist. Any time must do: while they load, meet, train, save, and while they end.
void kill_one(const Case& of, int rank, useconds_t delay, bool after_first_checkpoint, Tally& tally) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  const std::set<std::string> memory = shared_memory();
  RunningProgram program(
      train(concat(kKilledRun, few_pictures(folder), " --checkpoint-every 5 --steps ",
                   of.goes_on ? 150 : 1'000'000, " --strategy ", of.strategy, " --out ", out)));
  const pid_t launcher = program.pid();
  std::map<int, pid_t> processes;
  // With a server there is one more: any of them may be the last to start.
  while ((processes.size() < kWorkers || !processes.contains(rank)) && !program.ended()) {
    processes = processes_of(launcher);
  }
  ASSERT_TRUE(processes.contains(rank)) << program.wait().err;
  const std::string latest = out + "/checkpoints/latest.json";
  while (after_first_checkpoint && !fs::exists(latest) && !program.ended()) usleep(1'000);
  usleep(delay);
  const bool begun = fs::exists(latest);
  // A slow machine may have let it end: then no process is lost.
  const bool killed = processes_of(launcher).contains(rank) && kill(processes[rank], SIGKILL) == 0;
  const Ran ran = program.wait();
  ++(!killed ? tally.over : begun ? tally.training : tally.starting);
  if ((killed || !of.goes_on) && (begun || !ended_before_it_began(ran, rank, out)))
    expect_end(ran, of, rank, out);
  expect_nothing_left(launcher, out, memory);
}

TEST(TrainKill, ARandomWorkerAtARandomTime) {
  STARLING_NEEDS_TRAINER();
  const char* const wanted = std::getenv("STARLING_KILL_RUNS");
  const int runs = wanted == nullptr ? 6 : std::atoi(wanted);
  Tally tally;
  for (int run = 0; run < runs; ++run) {
    Random random(static_cast<std::uint64_t>(run));
    const Case& of = kCases[static_cast<std::size_t>(run) % std::size(kCases)];
    const int rank = of.lowest_rank +
                     static_cast<int>(random.below(static_cast<std::uint64_t>(kWorkers - of.lowest_rank)));
    const auto delay = static_cast<useconds_t>(random.below(2'000'000));
    SCOPED_TRACE(concat("run ", run, ": ", of.strategy, ", rank ", rank, " after ", delay, " us"));
    kill_one(of, rank, delay, run % 2 == 1, tally);
    if (::testing::Test::HasFailure()) return;
  }
  std::printf("killed while starting: %d, training: %d, too late: %d\n", tally.starting, tally.training,
              tally.over);
  EXPECT_GT(tally.training, 0);
}

// The next worker goes on with the curve and the checkpoints, and writes the files.
TEST(TrainKill, WorkerZeroAtARandomTime) {
  STARLING_NEEDS_TRAINER();
  Tally tally;
  for (const std::uint64_t run : {1, 2, 3}) {
    const Case of{run == 2 ? "dpsgd" : "ripples", 0, true};
    const auto delay = static_cast<useconds_t>(Random(run).below(3'000'000));
    SCOPED_TRACE(concat(of.strategy, ", after ", delay, " us"));
    kill_one(of, 0, delay, true, tally);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(tally.training, 0);
}

TEST(TrainKill, AsTheFlagsSay) {
  STARLING_NEEDS_TRAINER();
  for (const Case& of : {kCases[0], kCases[1]}) {
    SCOPED_TRACE(of.strategy);
    const TemporaryFolder folder;
    const std::string out = folder.path() + "/run";
    const Ran ran =
        run_program(train(concat(kKilledRun, few_pictures(folder), " --steps 50 --kill 2@0.3s --strategy ",
                                 of.strategy, " --out ", out)));
    expect_end(ran, of, 2, out);
  }
}

TEST(TrainKill, EndsAtALossIfThatIsWanted) {
  STARLING_NEEDS_TRAINER();
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  const Ran ran = run_program(train(
      concat(kKilledRun, few_pictures(folder), " --steps 1000 --kill 2@0.3s --on-loss end --out ", out)));
  expect_end(ran, {"allreduce", 0, false}, 2, out);
}

struct Loss {
  const char* strategy;
  int victim;
};

class ResumeAfterLoss : public ::testing::TestWithParam<Loss> {};

// The checkpoint of step 50 is that of the two that are left, and all three go on from it.
TEST_P(ResumeAfterLoss, GoesOnWithAllWorkers) {
  STARLING_NEEDS_TRAINER();
  const auto [strategy, victim] = GetParam();
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  const std::string flags =
      concat(kKilledRun, few_pictures(folder), " --checkpoint-every 5 --strategy ", strategy, " --steps ");
  const Ran killed = run_program(train(concat(flags, "50 --kill ", victim, "@0.3s --out ", out)));
  EXPECT_EQ(killed.exit_code, 0) << killed.err;
  const auto latest = [&] { return Json::parse(bytes_of(out + "/checkpoints/latest.json")); };
  EXPECT_EQ(latest()["step"], 50);
  EXPECT_EQ(latest()["ranks"], victim == 0 ? Json({1, 2}) : Json({0, 1}));

  const Ran resumed = run_program(train(concat(flags, "60 --json --resume ", out)));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  const std::string remark =
      concat("the checkpoint of step 50 has no part of worker ", victim,
             ", which was lost; it begins with the part of worker ", victim == 0 ? 1 : 0, "\n");
  const std::size_t said = resumed.err.find(remark);
  EXPECT_NE(said, std::string::npos) << resumed.err;
  EXPECT_EQ(resumed.err.find(remark, said + 1), std::string::npos) << resumed.err;
  EXPECT_EQ(Json::parse(resumed.out)["steps_per_worker"], Json({10, 10, 10}));
  EXPECT_EQ(latest()["step"], 60);
  EXPECT_EQ(latest()["ranks"], Json({0, 1, 2}));
}

INSTANTIATE_TEST_SUITE_P(TrainKill, ResumeAfterLoss,
                         ::testing::Values(Loss{"allreduce", 2}, Loss{"allreduce --shards dynamic", 2},
                                           Loss{"ripples", 0}, Loss{"ps --mode ssp --servers 1", 0}));

}  // namespace
}  // namespace starling::cli
