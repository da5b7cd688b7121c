// The variables of an environment, as values that a test can make up.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace starling::join {

// Where the ranks meet, and the secret that they share.
inline constexpr const char* kRendezvousVariable = "STARLING_RENDEZVOUS";
inline constexpr const char* kTokenVariable = "STARLING_TOKEN";

using EnvironmentVariables = std::map<std::string, std::string>;

// The variables of this process.
EnvironmentVariables process_environment();

inline std::optional<std::string> value_in(const EnvironmentVariables& variables, const std::string& name) {
  const auto found = variables.find(name);
  if (found == variables.end()) return {};
  return found->second;
}

}  // namespace starling::join
