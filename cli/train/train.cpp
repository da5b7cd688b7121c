#include "cli/train/train.h"

#include <cstdlib>
#include <memory>

#include "cli/common/find_program.h"
#include "cli/common/strategy_flags.h"
#include "cli/train/train_launched.h"
#include "cli/train/train_output.h"
#include "cli/train/train_plan.h"
#include "starling/core/error.h"
#include "starling/launch/launcher.h"

namespace starling::cli {
namespace {

// For the model and the curve to be judged and written after Ctrl-C.
constexpr Duration kGrace = std::chrono::minutes(2);

std::string find_trainer() {
  const auto program = find_own_file("starling-trainer");
  if (program) return *program;
  throw Error("train: starling-trainer is not there: LibTorch was not found when this program was built");
}

// Before anything is created or started; the workers would each say it.
void check_resume(const TrainPlan& plan) {
  if (!plan.setting.resume) return;
  const data::CheckpointFiles files(*plan.setting.resume);
  files.latest(torch::run_keys(plan.setting, plan.strategy->name, plan.workers));
}

// The process is one of several that somebody else has started.
[[noreturn]] void run_as_rank(const TrainLaunched& rank, const TrainText& text,
                              const std::vector<std::string>& own_flags,
                              const std::vector<std::string>& words) {
  if (rank.rank == 0) {
    const TrainPlan plan = plan_training(text, own_flags);
    check_resume(plan);
    find_trainer();
    open_run_folder(plan, words);
  } else {
    plan_flags(text, own_flags);
  }
  become_trainer(rank, find_trainer(), words);
}

int start_workers(const TrainPlan& plan, const std::vector<std::string>& words) {
  check_resume(plan);
  launch::LaunchPlan launch;
  launch.command = {find_trainer(), "--launched"};
  launch.command.insert(launch.command.end(), words.begin(), words.end());
  launch.workers = plan.workers;
  launch.strategy = plan.strategy->name;
  launch.options = plan.options;
  launch.link = plan.link;
  launch.own_output = true;
  launch.leader = 0;
  launch.grace = kGrace;
  open_run_folder(plan, words);
  return launch::launch(launch);
}

}  // namespace

void add_train(CLI::App& app, std::vector<std::string> words, int& exit_code) {
  CLI::App* const command = app.add_subcommand("train", "Train a built-in model on real processes");
  const auto text = std::make_shared<TrainText>();
  add_train_flags(*command, *text);
  command->callback([command, text, words = std::move(words), &exit_code] {
    text->strategy_flags = command->remaining();
    const std::vector<std::string> own_flags = flags_of(*command);
    const bool named = command->count("--strategy") > 0 || !text->strategy_flags.empty();
    if (const auto rank = rank_for(*text, named, own_flags, join::process_environment()))
      run_as_rank(*rank, *text, own_flags, words);
    exit_code = start_workers(plan_training(*text, own_flags), words);
  });
}

}  // namespace starling::cli
