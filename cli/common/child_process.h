// A child process that does not outlive this one.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/common/process_group.h"
#include "starling/core/types.h"

namespace starling::cli {

// It leads a process group of its own; its output is kept, not shown. Its end comes with a signal to the
// group, also when this process dies first, even by SIGKILL.
class ChildProcess final : public ProcessGroup {
 public:
  struct Options {
    // SIGTERM for a program that has things to clean up; it gets a second before SIGKILL.
    int end_signal = 9;
    std::vector<std::pair<std::string, std::string>> environment = {};  // on top of ours
  };

  // Runs `body` in a copy of this process, which must have no other threads.
  ChildProcess(const std::function<void()>& body, const Options& options);
  // Runs a program; its path is arguments[0], looked up in PATH.
  ChildProcess(const std::vector<std::string>& arguments, const Options& options);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() override { end(); }

  bool any_ended() override;
  std::string last_words() override;

  // Waits for its end. False if it still runs then.
  bool wait(Duration patience);
  int exit_code() const { return exit_code_; }  // after its end; 128 and the signal's number if killed

 private:
  void start(const std::function<void()>& body, const Options& options);
  bool reap(bool block);
  void end();
  std::string output() const;

  pid_t pid_ = -1;  // -1 after its end was collected
  int end_signal_ = 0;
  int exit_code_ = 0;
  int output_ = -1;
};

}  // namespace starling::cli
