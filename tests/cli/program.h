// Runs the built program `starling` and keeps what it says.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace starling::cli {

using Words = std::vector<std::string>;

struct Ran {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// With these arguments; `environment` holds words such as "NAME=value", on top of ours. With `out`, standard
// output goes to that file instead. The test's time limit is the limit.
Ran run_program(const Words& arguments, const Words& environment = {}, const std::string& out = "");

// The same, in the background.
pid_t start_program(const Words& arguments);

// Exit code 2, and nothing but one line on stderr that names the value and what else is expected of it.
void expect_refused(const Words& arguments, const std::string& value, const std::string& allowed);

}  // namespace starling::cli
