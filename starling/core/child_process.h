// A process that this one starts and that does not outlive it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace starling {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct ChildOptions {
  Variables environment = {};         // on top of this process's
  bool own_group = false;             // it leads a process group, which is signalled and ended with it
  int death_signal = SIGKILL;         // to it when this process dies, even by SIGKILL
  std::optional<sigset_t> mask = {};  // of its signals; else this process's
  bool no_input = false;              // it reads an empty file unless `input` is given
  int input = -1;                     // descriptors, which stay the caller's; -1: it shares this process's
  int output = -1;
  int errors = -1;
};

struct ProcessEnd {
  int exit_code = 0;  // 0 if it was killed
  int signal = 0;     // by which it was killed; 0: by none

  // As a shell has it: 128 and the number of the signal.
  int shell_code() const { return signal != 0 ? 128 + signal : exit_code; }
  // "exit code 3", "signal 9 (Killed)"
  std::string text() const;
};

class ChildProcess {
 public:
  // Runs a program, which is looked up in PATH. One that cannot be started says so on its error output and
  // ends with code 127, as in a shell. Throws Error if there can be no further process.
  explicit ChildProcess(const std::vector<std::string>& command, const ChildOptions& options = {});
  // Runs `body` in a copy of this process, which must have no other threads that matter, and ends with the
  // code that it returns. An exception that leaves it is told on the error output; the code is 1.
  explicit ChildProcess(const std::function<int()>& body, const ChildOptions& options = {});
  // Kills it and its group if its end was not collected.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  // Also after its end, when the number may be another process's.
  pid_t pid() const { return pid_; }
  // Its end has not been collected.
  bool running() const { return running_; }
  // To its group if it has one. After its end nothing.
  void signal(int number) const;

  // Collects its end; what is left of its group is killed before. The same end again if it was collected.
  ProcessEnd wait();
  // Nothing while it runs.
  std::optional<ProcessEnd> end_if_any();

 private:
  void start(const std::function<int()>& body, const ChildOptions& options);

  pid_t pid_ = -1;
  bool running_ = false;
  bool own_group_ = false;
  ProcessEnd end_;
};

// The arguments of exec: pointers to the words, which must outlive them, and a null pointer.
std::vector<char*> argv_of(const std::vector<std::string>& words);

}  // namespace starling
