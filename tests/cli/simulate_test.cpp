// `starling simulate` from the outside: what it prints, what it leaves, and that both are right.
#include <signal.h>
#include <sys/wait.h>

#include <map>

#include "starling/sim/workload.h"
#include "tests/cli/simulate_runs.h"

namespace starling::cli {
namespace {

using testing::TemporaryFolder;

TEST(Simulate, TheSameFlagsGiveTheSameRun) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  const Words words = simulate(
      "--workers 16 --strategy allreduce --workload quadratic --steps 200 --slow 0:4 --seed 1 --force "
      "--out " +
      out);
  std::map<std::string, std::string> first;
  const std::string report = output_of(words);
  for (const char* name : {"events.jsonl", "trace.json"}) first[name] = content_of(concat(out, "/", name));
  Json summary = Json::parse(content_of(out + "/summary.json"));
  EXPECT_EQ(summary["most_waited_for"], 0);
  EXPECT_EQ(summary["workers"], 16);
  EXPECT_EQ(summary["steps_per_worker"], Json(std::vector<int>(16, 200)));
  EXPECT_EQ(summary["staleness"]["max"], 0);
  EXPECT_NE(report.find("everyone waits for worker 0: 75 % of the others' time\n"), std::string::npos);

  EXPECT_EQ(output_of(words), report);
  Json again = Json::parse(content_of(out + "/summary.json"));
  EXPECT_TRUE(summary.erase("wall_seconds") == 1 && again.erase("wall_seconds") == 1);
  EXPECT_EQ(summary, again);
  for (const auto& [name, text] : first) EXPECT_EQ(content_of(concat(out, "/", name)), text) << name;
  EXPECT_EQ(files_in(out), "events.jsonl, run.json, summary.json, trace.json");
}

TEST(Simulate, ARunCanBeRepeatedFromItsFlags) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  Words words = simulate(
      "--strategy ps --mode=ssp --staleness 2 --steps 20 --jitter exponential --slow 1:2 --slow 0:3");
  words.insert(words.end(), {"--out", out, "--force"});
  const std::string report = output_of(words);
  const Json run = Json::parse(content_of(out + "/run.json"));
  EXPECT_EQ(run["flags"], Json(Words(words.begin() + 1, words.end())));
  Words again{"simulate"};
  for (const Json& word : run["flags"]) again.push_back(word);
  EXPECT_EQ(output_of(again), report);
  EXPECT_EQ(run["options"]["staleness"], "2");
  EXPECT_FALSE(run.contains("environment"));
}

TEST(Simulate, TheRateOfAllWorkersIsInTheRecord) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  const auto optimizer_of = [&](const std::string& flags) {
    output_of(simulate(concat("--workload mlp --workers 4 --steps 5 --force --out ", out, " ", flags)));
    return Json::parse(content_of(out + "/run.json"))["optimizer"];
  };
  const Json lars = optimizer_of("--optimizer lars --lr 0.5 --scale-lr linear --exclude none");
  EXPECT_EQ(lars["learning_rate"], 2.0);
  EXPECT_EQ(lars["learning_rate_of_one"], 0.5);
  EXPECT_EQ(lars["scale_lr"], "linear");
  EXPECT_EQ(lars["trust"], 0.001);
  EXPECT_EQ(lars["exclude"], "none");
  const Json plain = optimizer_of("--lr 0.1");
  EXPECT_EQ(plain["learning_rate"], 0.1);
  EXPECT_EQ(plain["scale_lr"], "none");
  EXPECT_FALSE(plain.contains("trust"));
  EXPECT_FALSE(plain.contains("exclude"));
}

// Checks each track; the times are exact decimals, so the tolerance is that of adding two of them.
TEST(Simulate, EventsOfATrackDoNotOverlap) {
  const TemporaryFolder folder;
  for (const char* strategy : {"allreduce", "ps --mode ssp", "ps --server beside", "dpsgd", "local-sgd"}) {
    const std::string out = folder.path() + "/run";
    output_of(simulate(concat("--workers 8 --jitter exponential --slow 0:3 --steps 40 --force --strategy ",
                              strategy, " --out ", out)));
    std::istringstream lines(content_of(out + "/events.jsonl"));
    for (std::string line; std::getline(lines, line);) EXPECT_TRUE(Json::accept(line)) << line;
    std::map<std::pair<int, int>, double> ends;
    const Json trace = Json::parse(content_of(out + "/trace.json"));
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      double& end = ends[{event["pid"], event["tid"]}];
      EXPECT_GE(event["ts"].get<double>(), end - 1e-3) << strategy << ": " << event;
      end = event["ts"].get<double>() + event["dur"].get<double>();
    }
    EXPECT_GE(ends.size(), 8U) << strategy;
  }
}

TEST(Simulate, RunJsonKeepsItsKeys) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  output_of(simulate("--strategy ripples --group-size 3 --period 2 --steps 2 --out " + out));
  const Json options = Json::parse(content_of(out + "/run.json"))["options"];
  EXPECT_EQ(options["group_size"], "3");
  EXPECT_EQ(options["section"], "2");
  EXPECT_FALSE(options.contains("period"));
}

TEST(Simulate, BoundedStalenessKeepsWorkersTogether) {
  const std::string common = "--strategy ps --slow 0:4 --time 20s --target-loss 1 ";
  const Json asp = summary_of(common + "--mode asp");
  const Json ssp = summary_of(common + "--mode ssp --staleness 3");
  EXPECT_GT(asp["samples"], ssp["samples"]);
  EXPECT_TRUE(asp["time_to_target_seconds"].is_number());
  EXPECT_TRUE(ssp["time_to_target_seconds"].is_number());
  const auto steps = ssp["steps_per_worker"].get<std::vector<int>>();
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  EXPECT_LE(*most - *least, 3);
  EXPECT_EQ(ssp["most_waited_for"], 0);
  EXPECT_GT(asp["staleness"]["max"], 0);
}

// The formulas of docs/collectives.md, plus a step of the model.
TEST(Simulate, AStepTakesWhatTheFormulasSay) {
  const auto model = sim::make_workload("replay:resnet50", {}, "");
  const double compute = model->times()->total();
  const double bytes = 4.0 * static_cast<double>(model->parameters());
  const double transfer = 2 * 63.0 / 64 * bytes / 1.25e9;
  for (const auto& [algorithm, rounds] : {std::pair("halving", 2 * 6), std::pair("ring", 2 * 63)}) {
    const Json summary = summary_of(
        concat("--workload replay:resnet50 --workers 64 --network 10gbe --steps 10 --algorithm ", algorithm));
    const double expected = compute + rounds * 50e-6 + transfer;
    EXPECT_NEAR(summary["seconds"].get<double>() / 10, expected, 0.01 * expected) << algorithm;
    EXPECT_TRUE(summary["final_train_loss"].is_null());
  }
}

TEST(Simulate, SaysThatARunDiverged) {
  for (const char* strategy : {"allreduce", "ps --mode asp", "dpsgd", "local-sgd --adapt adacomm"}) {
    const std::string flags = concat("--lr 100 --steps 500 --strategy ", strategy);
    EXPECT_NE(output_of(simulate(flags)).find("diverged: the loss is no longer a number\n"),
              std::string::npos);
    const Json summary = summary_of(flags);
    EXPECT_EQ(summary["diverged"], true);
    EXPECT_TRUE(summary["final_train_loss"].is_null());
  }
  EXPECT_NE(output_of(simulate("--lr 100 --steps 500 --seeds 1..3"))
                .find("3 of 3 seeds diverged: the loss is no longer a number\n"),
            std::string::npos);
}

TEST(Simulate, OneWorkerIsEnough) {
  for (const char* strategy : {"allreduce", "ps", "ps --server beside", "dpsgd", "local-sgd"}) {
    const Json summary = summary_of(concat("--workers 1 --strategy ", strategy));
    EXPECT_EQ(summary["steps_per_worker"], Json({100})) << strategy;
    EXPECT_TRUE(summary["most_waited_for"].is_null()) << strategy;
  }
}

// A requested fault is not a failure; its consequences for the others are.
TEST(Simulate, DeathsThatEndTheOthersAreFailures) {
  EXPECT_EQ(summary_of("--strategy ps --kill 2@3s")["ended"], Json({{"2", "killed at 3 s"}}));
  EXPECT_EQ(summary_of("--strategy ps --mode asp --pause 2@3s")["ended"],
            Json({{"2", "its step 30 never ends"}}));
  EXPECT_EQ(summary_of("--kill 2@3s")["ended"], Json({{"2", "killed at 3 s"}}));
  for (const char* flags : {"--strategy ps --server beside --kill 0@3s", "--pause 2@3s"}) {
    const Ran ran = run_program(simulate(flags));
    EXPECT_EQ(ran.exit_code, 1) << flags;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1);
    EXPECT_EQ(ran.err.find("starling: worker "), 0U) << ran.err;
    EXPECT_NE(ran.out.find("final loss"), std::string::npos) << "the table is printed nevertheless";
  }
  const Ran study = run_program(simulate("--pause 2@3s --seeds 4..6"));
  EXPECT_EQ(study.exit_code, 1);
  EXPECT_EQ(study.err.find("starling: seed 4: worker "), 0U) << study.err;
}

TEST(Simulate, AnInterruptedRunLeavesItsSettingsOnly) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  const pid_t pid = start_program({"simulate", "--time", "10000h", "--eval-steps", "1000", "--out", out});
  while (!std::filesystem::exists(out + "/run.json")) {
    ASSERT_EQ(waitpid(pid, nullptr, WNOHANG), 0) << "it has ended";
    usleep(1000);
  }
  kill(pid, SIGINT);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
  EXPECT_EQ(files_in(out), "run.json");
}

TEST(Simulate, ALossEndsTheRunIfThatIsWanted) {
  const std::string flags = "--strategy allreduce --workers 3 --steps 20 --kill 1@0.55s --json";
  EXPECT_EQ(run_program(simulate(flags)).exit_code, 0);
  EXPECT_EQ(run_program(simulate(flags + " --on-loss go-on")).exit_code, 0);
  const Ran ends = run_program(simulate(flags + " --on-loss end"));
  EXPECT_NE(ends.exit_code, 0);
  EXPECT_NE(ends.err.find("worker 0 ended after"), std::string::npos) << ends.err;
  EXPECT_NE(ends.err.find("rank 1 lost"), std::string::npos) << ends.err;
}

}  // namespace
}  // namespace starling::cli
