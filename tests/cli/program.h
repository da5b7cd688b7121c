// Runs the built program `starling` and keeps what it says.
#pragma once

#include <string>
#include <vector>

namespace starling::cli {

struct Ran {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// With these arguments; `environment` holds words such as "NAME=value", on top of ours. The test's time limit
// is the limit.
Ran run_program(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});

}  // namespace starling::cli
