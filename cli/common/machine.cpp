#include "cli/common/machine.h"

#include <fstream>
#include <limits>
#include <vector>

#include "starling/core/text.h"

namespace starling::cli {

namespace {

constexpr long long kMostKilobytes = std::numeric_limits<long long>::max() >> 10;

}  // namespace

std::string cores_text(int cores) { return concat(cores, cores == 1 ? " core" : " cores"); }

std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 2 || words[0] != "MemAvailable:") continue;
    return static_cast<std::size_t>(parse_integer(words[1], words[0], 0, kMostKilobytes)) << 10;
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
