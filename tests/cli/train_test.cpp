// `starling train` on real processes. The runs are short: what they learn does not matter.
#include <signal.h>
#include <unistd.h>

#include "starling/core/random.h"
#include "starling/record/run_folder.h"
#include "tests/cli/train_runs.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

constexpr const char* kSmallRun = "--model mlp --workers 3";
constexpr std::uint64_t kSamples = 12'000;  // of the glyphs' training set

class Train : public ::testing::Test {
 protected:
  void SetUp() override { STARLING_NEEDS_TRAINER(); }

  std::string in(const std::string& name) const { return concat(folder_.path(), "/", name); }

  const TemporaryFolder folder_;
};

TEST_F(Train, LeavesAllFiles) {
  const std::string out = in("run");
  const Ran ran = run_program(train(concat(kSmallRun, " --steps 10 --json --out ", out)));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  Words expected(std::begin(record::kRunFiles), std::end(record::kRunFiles));
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(files_below(out), expected);
  EXPECT_EQ(ran.out, bytes_of(out + "/summary.json"));

  const Json summary = summary_in(out);
  EXPECT_EQ(summary["world"], "real");
  EXPECT_EQ(summary["samples"], 10 * 32 * 3);
  EXPECT_EQ(summary["diverged"], false);
  EXPECT_GT(summary["test_accuracy"], 0);
  EXPECT_LE(summary["test_accuracy"], 1);
  ASSERT_GE(summary["accuracy_curve"].size(), 2U);
  EXPECT_EQ(summary["accuracy_curve"].front()[0], 0);
  EXPECT_EQ(summary["accuracy_curve"].back()[1], summary["test_accuracy"]);

  const Json run = Json::parse(bytes_of(out + "/run.json"));
  EXPECT_EQ(run["command"], "train");
  EXPECT_EQ(run["model"], "mlp");
  EXPECT_TRUE(Json::accept(bytes_of(out + "/trace.json")));
  for (const std::string& line : split(bytes_of(out + "/events.jsonl"), '\n')) {
    EXPECT_TRUE(line.empty() || Json::accept(line)) << line;
  }
}

// A second optimiser and another strategy show that they find their tensors.
TEST_F(Train, StatesTheRateOfAllWorkersAndHowTheOptimizerScales) {
  const std::string out = in("run");
  const std::string small =
      concat("--model mlp --workers 2 --batch 8", few_pictures(folder_), " --out ", out, " --force ");
  const auto optimizer_of = [&](const std::string& flags) {
    const Ran ran = run_program(train(small + flags));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return Json::parse(bytes_of(out + "/run.json"));
  };
  const Json lars = optimizer_of(
      "--steps 4 --optimizer lars --lr 0.5 --scale-lr linear --trust 0.02 --warmup 0.5epochs "
      "--lr-schedule polynomial --lr-end 0.01 --nesterov --strategy dear");
  const Json expected{
      {"kind", "lars"},       {"learning_rate", 1.0},       {"momentum", 0.9},      {"nesterov", true},
      {"weight_decay", 0.0},  {"clip_norm", 0.0},           {"scale_lr", "linear"}, {"trust", 0.02},
      {"exclude", "vectors"}, {"learning_rate_of_one", 0.5}};
  EXPECT_EQ(lars["optimizer"], expected);
  EXPECT_EQ(lars["warmup"], "0.5epochs");
  EXPECT_EQ(lars["lr_schedule"], "polynomial");
  EXPECT_EQ(lars["lr_power"], 2);
  EXPECT_EQ(lars["lr_end"], 0.01);

  const Json lamb = optimizer_of(
      "--steps 4 --optimizer lamb --lr 0.01 --scale-lr sqrt --exclude none --strategy ps --servers 1");
  EXPECT_DOUBLE_EQ(lamb["optimizer"]["learning_rate"], 0.01 * std::sqrt(2.0));
  EXPECT_EQ(lamb["optimizer"]["exclude"], "none");
  EXPECT_FALSE(lamb["optimizer"].contains("trust"));
  EXPECT_EQ(lamb["warmup"], 0);
}

TEST_F(Train, PrintsATableAndWhereTheFilesAre) {
  const Ran ran = run_program(train(concat("--model lenet --workers 2 --steps 2 --out ", in("run"))));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("worker   steps")) << ran.out;
  EXPECT_NE(ran.out.find("accuracy"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(concat("files in ", in("run"), "\n")), std::string::npos) << ran.out;
}

TEST_F(Train, EveryStrategyMakesTheStepsItWasAskedFor) {
  const std::string small = kSmallRun + few_pictures(folder_);
  for (const auto& [strategy, services] :
       std::vector<std::pair<std::string, int>>{{"local-sgd --period 4", 0},
                                                {"local-sgd --period 4 --period-by speed", 0},
                                                {"ps --mode bsp --servers 1", 1},
                                                {"ps --mode asp --servers 0", 0},
                                                {"ps --mode asp --servers 1", 1},
                                                {"dpsgd", 0}}) {
    SCOPED_TRACE(strategy);
    const Json summary = trained(concat(small, " --batch 4 --steps 10 --strategy ", strategy));
    EXPECT_EQ(summary["steps_per_worker"], Json({10, 10, 10}));
    EXPECT_EQ(summary["samples"], 10 * 4 * 3);
    EXPECT_EQ(summary["services"], services);
    EXPECT_EQ(summary["ended"], Json::object());
    EXPECT_TRUE(summary["test_accuracy"].is_number());
  }
}

TEST_F(Train, TheSeedDecidesOnEveryBitOfTheModel) {
  const std::string small = kSmallRun + few_pictures(folder_);
  const auto model = [&](const std::string& name, const std::string& more) {
    return model_of(train_into(in(name), concat(small, " --steps 10 ", more)));
  };
  const std::string first = model("first", "--seed 3");
  EXPECT_FALSE(first.empty());
  EXPECT_TRUE(model("again", "--seed 3") == first);
  EXPECT_TRUE(model("buckets", "--seed 3 --schedule ddp --fusion 64k --check-sync 2") == first);
  EXPECT_FALSE(model("other", "--seed 4") == first);
}

// 188 batches, the last one of 32: none may be taken twice or left out.
TEST_F(Train, SharedOutBatchesAreEachTakenOnce) {
  const auto steps = [](const Json& summary) {
    std::uint64_t sum = 0;
    for (const Json& worker : summary["steps_per_worker"]) sum += worker.get<std::uint64_t>();
    return sum;
  };
  const std::string flags =
      concat(kSmallRun, " --shards dynamic --batch 64 --epochs 1 --slow 0:10 --strategy ");
  const Json free = trained(flags + "ps --mode asp");
  EXPECT_EQ(free["samples"], kSamples);
  EXPECT_EQ(steps(free), 188U);
  const Json lockstep = trained(flags + "allreduce");
  EXPECT_EQ(lockstep["samples"], kSamples);
  EXPECT_EQ(steps(lockstep), 3 * 63U);  // one of them without a batch
}

TEST_F(Train, PiecesAreEachTakenOnce) {
  const std::string flags = concat(kSmallRun, " --batch 64 --epochs 1 --slow 0:10 --strategy nonblocking");
  for (const char* const options : {"", " --pieces auto", " --base dpsgd --pieces auto", " --base ripples"}) {
    EXPECT_EQ(trained(flags + options)["samples"], kSamples) << options;
  }
}

TEST_F(Train, EndsInTime) {
  const Json summary =
      trained(concat(kSmallRun, few_pictures(folder_), " --max-seconds 0.3 --pace 10ms --batch 4"));
  EXPECT_EQ(summary["steps_per_worker"][0], summary["steps_per_worker"][1]);
  EXPECT_LE(summary["steps_per_worker"][0], 40);  // steps of 10 ms, and a few to agree on the end
}

TEST_F(Train, EndsAtTheTarget) {
  // Both are reached soon; without an end there they would run until the test's time limit.
  for (const char* target : {"--target-loss 2.4", "--target-accuracy 0.05"}) {
    const Json summary =
        trained(concat(kSmallRun, " --max-seconds 1000 --pace 5ms --batch 4 --eval-every 50ms ", target));
    EXPECT_TRUE(summary["time_to_target_seconds"].is_number()) << target;
  }
}

TEST_F(Train, OnlyNotesTheTargetWhenToldSo) {
  const Json summary = trained(concat(kSmallRun, " --steps 10 --target-accuracy 0.01 --no-stop"));
  EXPECT_EQ(summary["steps_per_worker"], Json({10, 10, 10}));
  EXPECT_TRUE(summary["time_to_target_seconds"].is_number());
  const Json missed = trained(concat(kSmallRun, " --steps 2 --target-accuracy 1 --no-stop"));
  EXPECT_TRUE(missed["time_to_target_seconds"].is_null());
}

TEST_F(Train, SendsOverAnEmulatedLink) {
  const Json summary = trained(concat(kSmallRun, few_pictures(folder_), " --steps 3 --link 1gbe"));
  EXPECT_EQ(summary["steps_per_worker"], Json({3, 3, 3}));
  EXPECT_GT(summary["bytes_sent_per_worker"][0], 0);
}

TEST_F(Train, LearnsText) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += concat("line ", i, " of a text\n");
  const Json summary = trained(
      concat("--model charlm --workers 2 --batch 4 --epochs 2 --data text:", folder_.write("text", text)));
  // 5590 bytes, 5031 of them to learn from: 78 samples.
  EXPECT_EQ(summary["steps_per_worker"], Json({18, 18}));
  EXPECT_EQ(summary["samples"], 144);
  EXPECT_TRUE(summary["test_accuracy"].is_number());
}

// 8 steps are an epoch here, so both halves end in the middle of one.
class Resume : public ::testing::TestWithParam<const char*> {};

TEST_P(Resume, GivesTheModelOfTheWholeRun) {
  STARLING_NEEDS_TRAINER();
  const TemporaryFolder folder;
  const std::string flags =
      concat(kSmallRun, few_pictures(folder), " --batch 10 --strategy ", GetParam(), " --steps ");
  const std::string whole = train_into(folder.path() + "/whole", flags + "20");
  const std::string half = train_into(folder.path() + "/half", flags + "10 --checkpoint-every 10");
  EXPECT_FALSE(model_of(half) == model_of(whole));
  const std::string rest = folder.path() + "/rest";
  train_into(rest, concat(flags, "20 --resume ", half));
  EXPECT_FALSE(model_of(whole).empty());
  EXPECT_TRUE(model_of(rest) == model_of(whole));
  EXPECT_EQ(summary_in(rest)["steps_per_worker"], Json({10, 10, 10}));
}

INSTANTIATE_TEST_SUITE_P(Train, Resume,
                         ::testing::Values("allreduce", "local-sgd --period 4", "dpsgd",
                                           "ps --mode bsp --servers 0", "ps --mode bsp --servers 1"));

// Nine steps are an epoch here: with equal shards it would have one less.
TEST_F(Train, GoesOnInTheMiddleOfAnEpochThatIsSharedOut) {
  const std::string flags =
      concat(kSmallRun, few_pictures(folder_), " --batch 10 --shards dynamic --epochs 2");
  train_into(in("half"), flags + " --steps 10 --checkpoint-every 10");
  train_into(in("rest"), concat(flags, " --resume ", in("half")));
  EXPECT_EQ(summary_in(in("half"))["samples"], 246 + 30);
  EXPECT_EQ(summary_in(in("rest"))["samples"], 246 - 30);
}

TEST_F(Train, GoesOnInTheSameFolder) {
  const std::string out = in("run"), flags = concat(kSmallRun, few_pictures(folder_), " --steps ");
  train_into(out, flags + "2 --checkpoint-every 2");
  const Ran ran = run_program(train(concat(flags, "4 --checkpoint-every 2 --resume ", out)));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(Json::parse(bytes_of(out + "/checkpoints/latest.json"))["step"], 4);
  EXPECT_EQ(Json::parse(bytes_of(out + "/checkpoints/latest.json"))["before"]["step"], 2);
  EXPECT_TRUE(model_of(out) == model_of(train_into(in("whole"), flags + "4")));
}

// All workers go back with the one whose part is damaged.
TEST_F(Train, GoesBackToTheCheckpointBeforeADamagedOne) {
  const std::string out = in("run"), flags = concat(kSmallRun, few_pictures(folder_), " --steps ");
  train_into(out, flags + "4 --checkpoint-every 2");
  const std::string part = out + "/checkpoints/step-4/rank-1.safetensors";
  fs::resize_file(part, fs::file_size(part) - 1);
  const Ran ran = run_program(train(concat(flags, "6 --json --resume ", out)));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.err.find("rank 1: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("the run goes on from the checkpoint before it"), std::string::npos) << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["steps_per_worker"], Json({4, 4, 4}));
  EXPECT_TRUE(model_of(out) == model_of(train_into(in("whole"), flags + "6")));
}

// The weight decay ruins the model, whatever its gradients are.
TEST_F(Train, SaysWhenItHasDiverged) {
  const std::string out = in("run"),
                    flags = concat(kSmallRun, few_pictures(folder_), " --checkpoint-every 2 --steps ");
  train_into(out, flags + "2");
  const Ran ran = run_program(train(concat(flags, "12 --lr 1e12 --weight-decay 1e12 --resume ", out)));
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_NE(ran.err.find("the run has diverged"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("and goes on: the model has values that are not finite"), std::string::npos)
      << ran.err;
  EXPECT_EQ(summary_in(out)["diverged"], true);
  EXPECT_LT(Json::parse(bytes_of(out + "/checkpoints/latest.json"))["step"], 12);
}

TEST_F(Train, StopsIfGradientsStayNotFinite) {
  const std::string flags = concat(kSmallRun, few_pictures(folder_), " --lr 1e12 --steps 40");
  const Ran ran = run_program(train(flags));
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_NE(ran.err.find("is not finite; the step weighs nothing"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("the gradients of 10 steps in a row are not finite"), std::string::npos) << ran.err;
  const Ran first = run_program(train(flags + " --nonfinite stop"));
  EXPECT_EQ(first.exit_code, 1) << first.err;
  EXPECT_NE(first.err.find("is not finite; the run stops"), std::string::npos) << first.err;
}

// As on a full disk: one worker cannot write, so that checkpoint is skipped, and the run goes on.
TEST_F(Train, GoesOnWithoutACheckpointThatCannotBeWritten) {
  const std::string out = in("run"), flags = concat(kSmallRun, few_pictures(folder_), " --steps ");
  train_into(out, flags + "2 --checkpoint-every 2");
  fs::create_directories(out + "/checkpoints/step-4/rank-1.safetensors/in the way");
  const Ran ran = run_program(train(concat(flags, "6 --checkpoint-every 2 --resume ", out)));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.err.find("rank 1 cannot save step 4, and goes on: cannot write"), std::string::npos)
      << ran.err;
  const Json latest = Json::parse(bytes_of(out + "/checkpoints/latest.json"));
  EXPECT_EQ(latest["step"], 6);
  EXPECT_EQ(latest["before"]["step"], 2);
}

// A process that has the folder's name among its words.
bool anybody_works_in(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    if (bytes_of(entry.path() / "cmdline").find(folder) != std::string::npos) return true;
  }
  return false;
}

void wait_for(const std::string& file, RunningProgram& program) {
  while (!fs::exists(file) && !program.ended()) usleep(1'000);
}

TEST_F(Train, AKilledRunGoesOn) {
  Random random(7);
  const std::string small = kSmallRun + few_pictures(folder_);
  for (int i = 0; i < 3; ++i) {
    const std::string out = in(concat("run", i)), latest = out + "/checkpoints/latest.json";
    {
      RunningProgram program(
          train(concat(small, " --batch 4 --steps 100000 --checkpoint-every 1 --out ", out)));
      wait_for(latest, program);
      usleep(static_cast<useconds_t>(random.below(100'000)));  // any time must do
      ASSERT_FALSE(program.ended());
    }
    while (anybody_works_in(out)) usleep(1'000);
    const auto step = Json::parse(bytes_of(latest))["step"].get<std::uint64_t>();
    const Ran ran = run_program(
        train(concat(small, " --batch 4 --steps ", step + 2, " --checkpoint-every 1 --json --resume ", out)));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(Json::parse(ran.out)["steps_per_worker"], Json({2, 2, 2}));
    EXPECT_EQ(Json::parse(bytes_of(latest))["step"], step + 2);
    const Words left = files_below(out + "/checkpoints");
    EXPECT_EQ(left.size(), 1 + 2 * 3U) << join_texts(left);
  }
}

class Interrupted : public ::testing::TestWithParam<std::tuple<int, const char*>> {};

TEST_P(Interrupted, WritesEverything) {
  STARLING_NEEDS_TRAINER();
  const auto& [signal, strategy] = GetParam();
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  RunningProgram program(train(concat(kSmallRun, few_pictures(folder),
                                      " --batch 4 --max-seconds 1000 --checkpoint-every 1 --json --strategy ",
                                      strategy, " --out ", out)));
  wait_for(out + "/checkpoints/latest.json", program);
  kill(program.pid(), signal);
  const Ran ran = program.wait();
  EXPECT_EQ(ran.exit_code, 128 + signal) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, bytes_of(out + "/summary.json"));
  for (const std::string_view file : record::kRunFiles) EXPECT_TRUE(fs::exists(fs::path(out) / file)) << file;
  const Json summary = summary_in(out);
  EXPECT_GE(summary["steps_per_worker"][0], 1);
  EXPECT_TRUE(summary["test_accuracy"].is_number());
  EXPECT_EQ(summary["ended"], Json::object());
}

INSTANTIATE_TEST_SUITE_P(Train, Interrupted,
                         ::testing::Values(std::tuple(SIGINT, "allreduce"),
                                           std::tuple(SIGINT, "ps --mode asp"),
                                           std::tuple(SIGTERM, "dpsgd")));

}  // namespace
}  // namespace starling::cli
