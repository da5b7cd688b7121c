// Clusters described in TOML; docs/cluster.md has the keys.
#pragma once

#include <string>
#include <string_view>

#include "starling/cluster/cluster.h"

namespace starling::cluster {

// Both throw InvalidArgument, one line "FILE:LINE: key 'x': what is wrong; allowed: what is right".
Cluster read_cluster(const std::string& path);

// `name` is the FILE in errors.
Cluster parse_cluster(std::string_view text, std::string_view name);

}  // namespace starling::cluster
