// The variables of an environment, as values that a test can make up.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace starling::session {

using Variables = std::map<std::string, std::string>;

// Those of this process.
Variables environment();

inline std::optional<std::string> value_in(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  if (found == variables.end()) return {};
  return found->second;
}

}  // namespace starling::session
