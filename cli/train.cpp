#include "cli/train.h"

#include <cstdlib>
#include <memory>

#include "cli/programs.h"
#include "cli/strategy_flags.h"
#include "cli/train_plan.h"
#include "cli/train_record.h"
#include "starling/core/error.h"
#include "starling/session/launcher.h"

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

}  // namespace

void add_train(CLI::App& app, std::vector<std::string> words, int& exit_code) {
  CLI::App* const command = app.add_subcommand("train", "Train a built-in model on real processes");
  const auto text = std::make_shared<TrainText>();
  add_train_flags(*command, *text);
  command->callback([command, text, words = std::move(words), &exit_code] {
    text->strategy_flags = command->remaining();
    const TrainPlan plan = plan_training(*text, flags_of(*command));
    check_resume(plan);
    session::LaunchPlan launch;
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
    exit_code = session::launch(launch);
  });
}

}  // namespace starling::cli
