#include "cli/launch.h"

#include <algorithm>
#include <memory>

#include "cli/common/find_program.h"
#include "cli/common/shared_flags.h"
#include "cli/common/strategy_flags.h"
#include "cli/launch_hosts.h"
#include "cli/launch_output.h"
#include "starling/core/error.h"
#include "starling/join/rendezvous_protocol.h"
#include "starling/launch/launcher.h"

namespace starling::cli {
namespace {

struct LaunchFlags {
  Given<long long> workers;
  std::string strategy = "allreduce";
  Given<bool> on_loss;
  Given<transport::Link> link;
  HostFlags hosts;
  LaunchOutputFlags output;
};

void add_launch_flags(CLI::App& command, LaunchFlags& flags) {
  const SharedFlags& shared = shared_flags();
  command.allow_extras();
  add(command, shared.workers, flags.workers)->default_str("1; with --hosts: as many as these take");
  add(command, shared.strategy, flags.strategy)->capture_default_str();
  add(command, shared.on_loss, flags.on_loss)->default_str(kOnLossDefault);
  add(command, shared.link, flags.link);
  add_host_flags(command, flags.hosts);
  add_output_flags(command, flags.output);
}

// The words after the first "--".
std::vector<std::string> program_in(const std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end() || dashes + 1 == words.end()) {
    throw InvalidArgument("launch: no program; allowed: starling launch -n 4 -- PROGRAM ARGUMENTS");
  }
  return {dashes + 1, words.end()};
}

// Before anything is started.
void check_program(const std::string& name) {
  if (!find_program(name)) throw InvalidArgument(concat("launch: '", name, "' is not an executable program"));
}

int workers_on_hosts(const launch::HostsPlan& plan, const Given<long long>& workers) {
  const int slots = launch::slots_of(plan.hosts);
  const int most = join::kMostMeetingRanks - 1;
  if (slots > most) throw InvalidArgument(concat("--hosts: ", slots, " workers; allowed: up to ", most));
  return in_range(workers, "--workers, on these hosts", slots, 1, slots);
}

launch::LaunchPlan plan_launch(const LaunchFlags& flags, const std::vector<std::string>& words,
                               const CLI::App& command) {
  launch::LaunchPlan plan;
  plan.command = program_in(words);
  plan.elsewhere = plan_hosts(flags.hosts);
  if (plan.elsewhere) {
    if (flags.link)
      throw InvalidArgument("--link emulates links on one host; allowed: without --hosts and --hostfile");
    plan.workers = workers_on_hosts(*plan.elsewhere, flags.workers);
  } else {
    check_program(plan.command.front());
    plan.workers = in_range(flags.workers, "--workers", 1, 1, launch::kMostWorkers);
  }
  plan.strategy = flags.strategy;
  plan.end_on_loss = flags.on_loss.optional();
  plan.link = flags.link.optional();
  plan.output = plan_output(flags.output);
  const strategy::StrategyEntry& row = strategy::find_strategy(plan.strategy);
  plan.options = read_strategy_flags(row, command.remaining(), flags_of(command));
  const bool on_one_host = !plan.link && (!plan.elsewhere || plan.elsewhere->hosts.size() == 1);
  strategy::check_hosts(row, strategy::Options::parse(row.options, row.name, plan.options), on_one_host);
  return plan;
}

}  // namespace

void add_launch(CLI::App& app, std::vector<std::string> words, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("launch", "Start the processes of a run on this host or on several");
  const auto flags = std::make_shared<LaunchFlags>();
  add_launch_flags(*command, *flags);
  command->footer(
      "starling launch -n 4 --strategy ps --mode asp -- ./my_program its arguments\n"
      "starling launch --hosts node1:4,node2:4 -- ./my_program its arguments\n"
      "starling launch -n 4 --out runs/x --checkpoint-every 100 -- ./my_program its arguments");
  command->callback([command, flags, words = std::move(words), &exit_code] {
    const launch::LaunchPlan plan = plan_launch(*flags, words, *command);
    const bool goes_on = flags->output.resume && !flags->output.out;
    open_run_folder(plan, flags->output.force || goes_on, words);
    exit_code = launch::launch(plan);
  });
}

}  // namespace starling::cli
