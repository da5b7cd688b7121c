#include "cli/machine.h"

#include <fstream>
#include <vector>

#include "starling/core/text.h"

namespace starling::cli {

std::string cores_text(int cores) { return concat(cores, cores == 1 ? " core" : " cores"); }

std::string own_command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return join(arguments, " ");
}

}  // namespace starling::cli
