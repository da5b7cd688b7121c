// The flags of `starling launch` that are about several hosts.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "starling/launch/launcher.h"

namespace starling::cli {

struct HostFlags {
  std::optional<std::string> hosts;
  std::optional<std::string> hostfile;
  std::optional<std::string> agent;
  std::optional<std::string> rendezvous;
  std::vector<std::string> variables;
};

void add_host_flags(CLI::App& command, HostFlags& flags);

// None if all are to be on this host. Throws InvalidArgument before anything is started.
std::optional<launch::HostsPlan> plan_hosts(const HostFlags& flags);

}  // namespace starling::cli
