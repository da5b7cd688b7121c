#include "cli/launch.h"

#include <algorithm>
#include <memory>

#include "cli/common/find_program.h"
#include "cli/common/strategy_flags.h"
#include "cli/launch_hosts.h"
#include "starling/core/error.h"
#include "starling/join/rendezvous_protocol.h"
#include "starling/launch/launcher.h"

namespace starling::cli {
namespace {

struct LaunchText {
  std::string workers = "1";
  std::string strategy = "allreduce";
  std::string link;
  HostFlags hosts;
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

int workers_on_hosts(const launch::HostsPlan& plan, const CLI::Option& given, const std::string& text) {
  const int slots = launch::slots_of(plan.hosts);
  const int most = join::kMostMeetingRanks - 1;
  if (slots > most) throw InvalidArgument(concat("--hosts: ", slots, " workers; allowed: up to ", most));
  return given.count() == 0 ? slots
                            : static_cast<int>(parse_integer(text, "--workers, on these hosts", 1, slots));
}

}  // namespace

void add_launch(CLI::App& app, std::vector<std::string> words, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("launch", "Start the processes of a run on this host or on several");
  command->allow_extras();
  const auto text = std::make_shared<LaunchText>();
  CLI::Option* const workers =
      command->add_option("-n,--workers", text->workers, "how many (1; on hosts: as many as these take)");
  command->add_option("--strategy", text->strategy,
                      "as in `starling strategies` (allreduce); its options are flags, too");
  CLI::Option* const link = command->add_option(
      "--link", text->link, "emulated between the ranks, as if each had its own host: 1gbe, 40gbit/5us, ...");
  add_host_flags(*command, text->hosts);
  command->footer(
      "starling launch -n 4 --strategy ps --mode asp -- ./my_program its arguments\n"
      "starling launch --hosts node1:4,node2:4 -- ./my_program its arguments");
  command->callback([command, workers, link, text, words = std::move(words), &exit_code] {
    launch::LaunchPlan plan;
    plan.command = program_in(words);
    plan.elsewhere = plan_hosts(text->hosts);
    if (plan.elsewhere) {
      if (link->count() > 0)
        throw InvalidArgument("--link is emulated on one host; allowed: without --hosts and --hostfile");
      plan.workers = workers_on_hosts(*plan.elsewhere, *workers, text->workers);
    } else {
      check_program(plan.command.front());
      plan.workers = static_cast<int>(parse_integer(text->workers, "--workers", 1, launch::kMostWorkers));
    }
    plan.strategy = text->strategy;
    if (link->count() > 0) plan.link = transport::parse_link(text->link, "--link");
    plan.options =
        read_strategy_flags(strategy::find_strategy(plan.strategy), command->remaining(), flags_of(*command));
    exit_code = launch::launch(plan);
  });
}

}  // namespace starling::cli
