#include "cli/launch_hosts.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/common/find_program.h"
#include "starling/core/error.h"
#include "starling/join/rendezvous_address.h"
#include "starling/launch/shell_words.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;
using launch::HostsPlan;

// A run uses a connection that the user holds open but makes none that outlives it, and notices within half a
// minute that a host is gone.
std::vector<std::string> ssh() {
  return {"ssh", "-o", "BatchMode=yes", "-o", "ControlMaster=no", "-o", "ServerAliveInterval=10"};
}

// Variables that programs need to be found and to run as they do here.
constexpr std::array kPaths{"PATH", "LD_LIBRARY_PATH", "PYTHONPATH"};
constexpr std::array kSentAlong{"VIRTUAL_ENV", "OMP_NUM_THREADS"};
constexpr std::array kSentPrefixes{"STARLING_", "UCX_"};

// The launcher sets these.
constexpr std::array kOwn{"STARLING_RANK",  "STARLING_WORKERS",    "STARLING_RANKS",    "STARLING_ARENA",
                          "STARLING_TOKEN", "STARLING_RENDEZVOUS", "STARLING_STRATEGY", "STARLING_OPTIONS",
                          "STARLING_LINK",  "STARLING_ON_LOSS"};
// Is the name of this host.
constexpr std::string_view kOwnHost = "STARLING_HOST";

template <class Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_sent_along(std::string_view name) {
  const bool known = std::any_of(kSentPrefixes.begin(), kSentPrefixes.end(),
                                 [&](std::string_view prefix) { return name.starts_with(prefix); });
  return is_among(kSentAlong, name) || (known && !is_among(kOwn, name) && name != kOwnHost);
}

std::string content_of(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path);
  if (!file || fs::is_directory(path, ignored))
    throw InvalidArgument(concat("--hostfile: '", path, "' is not a readable file"));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<launch::HostSlots> hosts_in(const HostFlags& flags) {
  if (flags.hosts && flags.hostfile)
    throw InvalidArgument("--hosts and --hostfile are given; allowed: one of them");
  if (flags.hosts) return launch::parse_host_list(*flags.hosts, "--hosts");
  return launch::parse_host_file(content_of(*flags.hostfile), concat("--hostfile ", *flags.hostfile));
}

std::vector<std::string> agent_in(const HostFlags& flags) {
  std::vector<std::string> agent = flags.agent ? launch::split_words(*flags.agent, "--agent") : ssh();
  if (!find_program(agent.front())) {
    throw InvalidArgument(concat(flags.agent ? "--agent: " : "launch: ", "'", agent.front(),
                                 "' is not an executable program; allowed: ssh, or --agent with a command "
                                 "that is called like it"));
  }
  return agent;
}

// As the user knows it: with symbolic links, since only the path through them may be the same on other hosts.
std::string working_folder() {
  const char* const logical = std::getenv("PWD");
  std::error_code error;
  if (logical != nullptr && logical[0] == '/' && fs::equivalent(logical, ".", error) && !error)
    return logical;
  return fs::current_path().string();
}

bool is_variable_name(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !name.empty() && name.find_first_not_of(kLetters) == std::string_view::npos &&
         (name.front() < '0' || name.front() > '9');
}

std::pair<std::string, std::string> variable_in(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (!is_variable_name(name))
    throw InvalidArgument(concat("--env: '", text, "'; allowed: NAME or NAME=VALUE"));
  if (is_among(kOwn, name))
    throw InvalidArgument(concat("--env: ", name, " is set by the launcher; allowed: other variables"));
  if (equals != std::string::npos) return {name, text.substr(equals + 1)};
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr)
    throw InvalidArgument(
        concat("--env: ", name, " is not set here; allowed: a variable that is set, or NAME=VALUE"));
  return {name, value};
}

void choose_variables(HostsPlan& plan, const std::vector<std::string>& asked) {
  for (const std::string& text : asked) plan.variables.push_back(variable_in(text));
  const auto is_asked = [&, count = plan.variables.size()](std::string_view name) {
    return std::any_of(plan.variables.begin(), plan.variables.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](const auto& variable) { return variable.first == name; });
  };
  for (const char* const name : kPaths) {
    const char* const value = std::getenv(name);
    if (value != nullptr && value[0] != '\0' && !is_asked(name)) plan.paths.emplace_back(name, value);
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    if (is_sent_along(name) && is_variable_name(name) && name.size() < text.size() && !is_asked(name))
      plan.variables.emplace_back(name, text.substr(name.size() + 1));
  }
}

}  // namespace

void add_host_flags(CLI::App& command, HostFlags& flags) {
  command.add_option("--hosts", flags.hosts,
                     "hosts to start on over ssh, with their numbers of workers: a:4,b:4 (this host)");
  command.add_option("--hostfile", flags.hostfile, "file with a host on each line, as in 'a slots=4'");
  command.add_option("--agent", flags.agent, "command to use instead of ssh, called like it");
  command.add_option("--rendezvous", flags.rendezvous,
                     "HOST:PORT where rank 0 listens, on the first host (its name, any free port)");
  command
      .add_option("--env", flags.variables,
                  "environment variable for the processes on the hosts: NAME or NAME=VALUE; repeatable")
      ->allow_extra_args(false);
}

std::optional<HostsPlan> plan_hosts(const HostFlags& flags) {
  if (!flags.hosts && !flags.hostfile) {
    for (const auto& [given, name] : {std::pair(flags.agent.has_value(), "--agent"),
                                      std::pair(flags.rendezvous.has_value(), "--rendezvous"),
                                      std::pair(!flags.variables.empty(), "--env")}) {
      if (given)
        throw InvalidArgument(concat(name, " is for several hosts; allowed: with --hosts or --hostfile"));
    }
    return {};
  }
  HostsPlan plan;
  plan.hosts = hosts_in(flags);
  plan.agent = agent_in(flags);
  plan.folder = working_folder();
  if (flags.rendezvous) {
    join::parse_rendezvous_address(*flags.rendezvous, "--rendezvous");
    plan.rendezvous = *flags.rendezvous;
  }
  choose_variables(plan, flags.variables);
  return plan;
}

}  // namespace starling::cli
