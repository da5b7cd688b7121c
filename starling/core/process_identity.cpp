#include "starling/core/process_identity.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling {

namespace {

constexpr int kPidBits = 22;  // the kernel's own limit

// The fields of /proc/PID/stat from the third on, none if there is no such process. The name before them, in
// brackets, may hold anything.
std::vector<std::string> stat_fields_of(pid_t pid) {
  std::ifstream file(concat("/proc/", pid, "/stat"));
  std::string line;
  if (!std::getline(file, line)) return {};
  return words_of(std::string_view(line).substr(line.rfind(')') + 1));
}

// In clock ticks since boot, 0 if there is no such process.
std::uint64_t start_time_of(pid_t pid) {
  const std::vector<std::string> fields = stat_fields_of(pid);
  constexpr std::size_t kStartTime = 22 - 3;
  if (fields.size() <= kStartTime) return 0;
  return static_cast<std::uint64_t>(
      parse_integer(fields[kStartTime], "start time", 0, std::numeric_limits<long long>::max()));
}

}  // namespace

pid_t ProcessIdentity::pid() const { return static_cast<pid_t>(word & ((std::uint64_t{1} << kPidBits) - 1)); }

ProcessIdentity identity_of(pid_t pid) {
  const std::uint64_t start_time = start_time_of(pid);
  if (start_time == 0) return {};
  return {start_time << kPidBits | static_cast<std::uint64_t>(pid)};
}

// The comparison comes second: an open descriptor keeps its pid from being used again.
Descriptor open_process(ProcessIdentity identity) {
  Descriptor process = open_process(identity.pid());
  if (!process.valid() || identity_of(identity.pid()) != identity) return {};
  return process;
}

bool is_traced(ProcessIdentity identity) {
  std::ifstream file(concat("/proc/", identity.pid(), "/status"));
  constexpr std::string_view kTracer = "TracerPid:";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kTracer))
      return words_of(line.substr(kTracer.size())) != std::vector<std::string>{"0"};
  }
  return false;
}

bool is_stopped(pid_t pid) {
  const std::vector<std::string> fields = stat_fields_of(pid);
  return !fields.empty() && fields.front() == "T";
}

int kill_process(const Descriptor& process) {
  return syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0 ? 0 : errno;
}

}  // namespace starling
