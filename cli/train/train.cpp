#include "cli/train/train.h"

#include <cstdlib>
#include <memory>

#include "cli/common/find_program.h"
#include "cli/common/strategy_flags.h"
#include "cli/train/train_launched.h"
#include "cli/train/train_output.h"
#include "cli/train/train_plan.h"
#include "cli/train/train_plan_json.h"
#include "starling/core/error.h"
#include "starling/launch/launcher.h"

namespace starling::cli {
namespace {

// After Ctrl-C the model and the curve are still evaluated and written.
constexpr Duration kGrace = std::chrono::minutes(2);

std::string find_trainer() {
  const auto program = find_own_file("starling-trainer");
  if (program) return *program;
  throw Error("train: starling-trainer is missing: LibTorch was not found when this program was built");
}

// The first of the workers looks at the files, which the others may have elsewhere.
[[noreturn]] void run_as_rank(const TrainLaunched& rank, const TrainFlags& flags,
                              const std::vector<std::string>& own_flags,
                              const std::vector<std::string>& words) {
  const bool first = rank.rank == 0;
  const TrainPlan plan = first ? plan_training(flags, own_flags) : plan_flags(flags, own_flags);
  if (first) check_resume(plan);
  const std::string trainer = find_trainer();
  if (first) open_run_folder(plan, words);
  become_trainer(rank, trainer, plan);
}

int start_workers(const TrainPlan& plan, const std::vector<std::string>& words) {
  check_resume(plan);
  launch::LaunchPlan launch;
  launch.command = {find_trainer(), "--plan", std::to_string(open_plan(plan))};
  launch.workers = plan.workers;
  launch.strategy = plan.strategy->name;
  launch.options = plan.options;
  launch.end_on_loss = plan.end_on_loss;
  launch.link = plan.link;
  launch.own_output = true;
  launch.run_exit_codes = {kBadInput, kDiverged};
  launch.grace = kGrace;
  open_run_folder(plan, words);
  return launch::launch(launch);
}

}  // namespace

void add_train(CLI::App& app, std::vector<std::string> words, int& exit_code) {
  CLI::App* const command = app.add_subcommand("train", "Train a built-in model on real processes");
  const auto flags = std::make_shared<TrainFlags>();
  add_train_flags(*command, *flags);
  command->callback([command, flags, words = std::move(words), &exit_code] {
    flags->strategy_flags = command->remaining();
    const std::vector<std::string> own_flags = flags_of(*command);
    const bool named = command->count("--strategy") > 0 || !flags->strategy_flags.empty();
    if (const auto rank = rank_for(*flags, named, own_flags, join::process_environment()))
      run_as_rank(*rank, *flags, own_flags, words);
    exit_code = start_workers(plan_training(*flags, own_flags), words);
  });
}

}  // namespace starling::cli
