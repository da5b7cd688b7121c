// Clusters described on a command line; docs/cluster.md has the flags.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/cluster/cluster.h"

namespace starling::cluster {

// The values of the flags, as text. The braces let a caller name only some of them without a warning.
struct ClusterFlags {
  std::optional<std::string> file{};  // the others are applied on top; not together with workers and hosts
  std::optional<std::string> workers{};
  std::optional<std::string> hosts{};
  std::optional<std::string> network{};
  std::optional<std::string> inside{};
  std::optional<std::string> jitter{};
  std::optional<std::string> jitter_span{};
  // Each text may hold several, between commas: --slow 0:4,1:2.
  std::vector<std::string> slow{};   // --slow 0:4, --slow 0:4@10s-20s
  std::vector<std::string> pause{};  // --pause 3@5s-8s
  std::vector<std::string> link{};   // --link-slow 1:10, --link-slow 1:10@5s-8s
  std::vector<std::string> kill{};   // --kill 2@15s
  std::vector<std::string> stop{};   // --stop 2@15s-25s
  std::vector<std::string> cut{};    // --cut 1@15s-25s
  std::vector<std::string> join{};   // --join 3@10s
};

// Without any flag: 4 workers, each on a host of its own, 10gbe, no jitter.
// Throws InvalidArgument, one line that starts with the flag.
Cluster make_cluster(const ClusterFlags& flags);

// The form of what follows --slow, --pause, --link-slow, --kill, --stop, --cut or --join, whatever the
// cluster is like. Throws InvalidArgument, one line that starts with the flag.
void check_form(std::string_view flag, std::string_view text);

}  // namespace starling::cluster
