// Runs the built program `starling` and captures its output.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace starling::cli {

using Words = std::vector<std::string>;
using Json = nlohmann::json;

struct Ran {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// The path that the build defines; the environment may name another program, such as an installed one.
std::string program_path();

// Runs the program with these arguments; `environment` holds words such as "NAME=value", on top of ours. With
// `out`, standard output goes to that file instead. The test's time limit is the limit.
Ran run_program(const Words& arguments, const Words& environment = {}, const std::string& out = "");

// The same, in the background.
pid_t start_program(const Words& arguments);

// Runs in the background with its output captured. Killed with its owner.
class RunningProgram {
 public:
  explicit RunningProgram(const Words& arguments, const Words& environment = {}, const std::string& out = "");
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  pid_t pid() const { return pid_; }
  bool ended();
  // Once.
  Ran wait();

 private:
  int out_;
  int err_;
  pid_t pid_;
  bool collected_ = false;
};

// The lines of what several ranks said, in an order that does not depend on them.
Words sorted_lines(const std::string& text);

// Exit code 2, and nothing but one line on stderr that names the value and what else is expected of it.
void expect_refused(const Words& arguments, const std::string& value, const std::string& allowed);

}  // namespace starling::cli
