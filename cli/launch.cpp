#include "cli/launch.h"

#include <algorithm>
#include <memory>

#include "cli/programs.h"
#include "cli/strategy_flags.h"
#include "starling/core/error.h"
#include "starling/session/launcher.h"

namespace starling::cli {
namespace {

struct LaunchText {
  std::string workers = "1";
  std::string strategy = "allreduce";
  std::string link;
};

// What comes after the first "--".
std::vector<std::string> program_in(const std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end() || dashes + 1 == words.end()) {
    throw InvalidArgument("launch: no program; allowed: starling launch -n 4 -- PROGRAM ARGUMENTS");
  }
  return {dashes + 1, words.end()};
}

// Before anything is started.
void check_program(const std::string& name) {
  if (!find_program(name))
    throw InvalidArgument(concat("launch: '", name, "' is not a program that can be run"));
}

}  // namespace

void add_launch(CLI::App& app, std::vector<std::string> words, int& exit_code) {
  CLI::App* const command = app.add_subcommand("launch", "Start the processes of a run on this host");
  command->allow_extras();
  const auto text = std::make_shared<LaunchText>();
  command->add_option("-n,--workers", text->workers, "how many (1)");
  command->add_option("--strategy", text->strategy,
                      "as in `starling strategies` (allreduce); its options are flags, too");
  CLI::Option* const link = command->add_option(
      "--link", text->link, "emulated between the ranks, as if each had its own host: 1gbe, 40gbit/5us, ...");
  command->footer("starling launch -n 4 --strategy ps --mode asp -- ./my_program its arguments");
  command->callback([command, link, text, words = std::move(words), &exit_code] {
    session::LaunchPlan plan;
    plan.command = program_in(words);
    check_program(plan.command.front());
    plan.workers = static_cast<int>(parse_integer(text->workers, "--workers", 1, session::kMostWorkers));
    plan.strategy = text->strategy;
    if (link->count() > 0) plan.link = transport::parse_link(text->link, "--link");
    plan.options = read_strategy_flags(strategy::find_strategy(plan.strategy), command->remaining(),
                                       {"--workers", "--strategy", "--link"});
    exit_code = session::launch(plan);
  });
}

}  // namespace starling::cli
