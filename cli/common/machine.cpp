#include "cli/common/machine.h"

#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include "starling/core/text.h"

namespace starling::cli {

std::string cores_text(int cores) { return concat(cores, cores == 1 ? " core" : " cores"); }

std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::size_t kilobytes = 0;
    if (words >> name >> kilobytes && name == "MemAvailable:") return kilobytes << 10;
  }
  return std::numeric_limits<std::size_t>::max();
}

std::string own_command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return join_texts(arguments, " ");
}

}  // namespace starling::cli
