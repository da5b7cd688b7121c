// The program starling-trainer: one worker of `starling train`, which starts or becomes it and hands it the
// plan of the run. Exit codes as those of starling; 3 if the run diverged, 75 if the other workers went on
// without this one, 130 after Ctrl-C, 143 after SIGTERM.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>

#include "cli/common/rank0_errors.h"
#include "cli/train/train_output.h"
#include "cli/train/train_plan.h"
#include "cli/train/train_plan_json.h"
#include "cli/train/train_progress.h"
#include "cli/trainer/plain_loops.h"
#include "starling/core/error.h"
#include "starling/join/run_context.h"
#include "starling/membership/membership.h"
#include "starling/record/summary.h"
#include "starling/torch/trainer.h"

namespace starling::cli {
namespace {

std::atomic<bool> interrupted = false;
std::atomic<int> signal_number = 0;

void interrupt(int number) {
  signal_number = number;
  interrupted = true;
}

void watch_signals() {
  struct sigaction action {};
  action.sa_handler = interrupt;
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
}

// Data that cannot be read here may be readable on the other hosts.
void load_data(Rank rank, TrainPlan& plan) {
  try {
    cli::load_data(plan);
  } catch (const InvalidArgument& error) {
    if (rank == 0) throw;
    let_first_rank_speak();
    throw InvalidArgument(concat("worker ", rank, ": ", error.what()));
  }
}

// Whether a worker has stopped the run. It may be another one than this.
bool tell_stop(const record::RunRecord& run) {
  for (const record::RankRecord& record : run.ranks) {
    if (record.journal.stopped.empty()) continue;
    std::fprintf(stderr, "starling: %s\n", record.journal.stopped.c_str());
    return true;
  }
  return false;
}

int run(const TrainPlan& plan) {
  join::RunContext context;
  TrainProgress line(plan, !plan.json);
  torch::TrainListener listener;
  listener.interrupted = &interrupted;
  listener.show = [&line](const std::vector<session::Progress>& all, Duration elapsed) {
    line.show(all, elapsed);
  };
  listener.remark = [](const std::string& text) { std::fprintf(stderr, "starling: %s\n", text.c_str()); };
  listener.write = [&](const torch::TrainResult& result) {
    line.end();
    write_run(plan, result.run, result.model);
  };
  const auto result = torch::train(context, plan.setting, listener);
  if (interrupted) return 128 + signal_number;
  if (result && tell_stop(result->run)) return 1;
  if (!result || !record::diverged(result->run)) return 0;
  std::fprintf(stderr,
               "starling: the run has diverged: its loss is no longer a number; a smaller --lr may help\n");
  return kDiverged;
}

// `--plan DESCRIPTOR` is how `starling train` hands its plan over; only plain loops take flags.
int read_and_run(Rank rank, int argc, char** argv) {
  CLI::App app("A worker of starling train", "starling-trainer");
  TrainFlags flags;
  add_train_flags(app, flags);
  int descriptor = -1;
  bool plain = false;
  CLI::Option* const handed = app.add_option("--plan", descriptor);
  app.add_flag("--plain", plain)->excludes(handed);
  app.parse(argc, argv);
  if (plain) {
    if (!flags.steps) throw InvalidArgument("--plain: allowed with --steps");
    TrainPlan plan = plan_flags(flags, {});
    cli::load_data(plan);
    run_plain_loops(plan);
    return 0;
  }
  if (handed->count() == 0) throw InvalidArgument("starling-trainer is started by starling train");
  TrainPlan plan = read_plan(descriptor);
  load_data(rank, plan);
  return run(plan);
}

// Our launcher reports the lost rank; one of the others reports the effect on the run. Other launchers end
// all processes with the first that ends, and name that one: the others give way to the rank that reports,
// and report themselves only if they still live then.
void tell_loss(const PeerLost& loss, const join::RunEnvironment& environment) {
  const bool ours = !environment.arena.empty();
  const Rank speaker = loss.rank == 0 ? 1 : 0;
  if (environment.rank != speaker && ours) return;
  if (environment.rank != speaker) let_first_rank_speak();
  std::fprintf(stderr, "starling: %s\n", loss.what());
}

int main(int argc, char** argv) {
  join::RunEnvironment environment;
  const Rank& rank = environment.rank;
  try {
    environment = join::read_run_environment();
    watch_signals();
    return read_and_run(rank, argc, argv);
  } catch (const PeerLost& error) {
    tell_loss(error, environment);
  } catch (const membership::Excluded& error) {
    std::fprintf(stderr, "starling: %s\n", error.what());
    return join::kExcludedExitCode;
  } catch (const InvalidArgument& error) {
    std::fprintf(stderr, "starling: %s\n", error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "starling: worker %d: %s\n", rank, error.what());
  }
  return 1;
}

}  // namespace
}  // namespace starling::cli

int main(int argc, char** argv) { return starling::cli::main(argc, argv); }
