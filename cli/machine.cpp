#include "cli/machine.h"

#include <sched.h>

#include <fstream>
#include <thread>
#include <vector>

#include "starling/core/text.h"

namespace starling::cli {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

std::string cores_text(int cores) { return concat(cores, cores == 1 ? " core" : " cores"); }

std::string own_command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return join(arguments, " ");
}

}  // namespace starling::cli
