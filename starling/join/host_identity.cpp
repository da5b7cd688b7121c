#include "starling/join/host_identity.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::join {

namespace {

// Sockets without a file are found within a network namespace, processes within a process namespace.
std::string namespace_of(const char* kind) {
  struct stat status {};
  if (stat(concat("/proc/self/ns/", kind).c_str(), &status) != 0) return "?";
  return std::to_string(status.st_ino);
}

}  // namespace

std::string host_identity() {
  constexpr const char* kVariable = "STARLING_HOST";
  if (const char* const said = std::getenv(kVariable)) {
    std::string name = said;
    if (name.empty() || name.size() > 64 || name.find('\n') != std::string::npos)
      throw InvalidArgument(concat(kVariable, " '", name, "': allowed are 1 to 64 characters in one line"));
    return name;
  }
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return concat(boot, "/", namespace_of("net"), "/", namespace_of("pid"));
}

}  // namespace starling::join
