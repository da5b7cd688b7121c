// A child process whose output is kept, not shown.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/common/process_group.h"
#include "starling/core/child_process.h"
#include "starling/core/descriptor.h"
#include "starling/core/types.h"

namespace starling::cli {

// It leads a process group of its own. Its end comes with a signal to the group, also when this process dies
// first, even by SIGKILL.
class CapturedProcess final : public ProcessGroup {
 public:
  struct Options {
    // SIGTERM for a program that has things to clean up; it gets a second before SIGKILL.
    int end_signal = SIGKILL;
    Variables environment = {};  // on top of ours
  };

  // Runs `body` in a copy of this process, which must have no other threads.
  CapturedProcess(const std::function<void()>& body, const Options& options);
  // Runs a program, which is looked up in PATH.
  CapturedProcess(const std::vector<std::string>& command, const Options& options);
  CapturedProcess(const CapturedProcess&) = delete;
  CapturedProcess& operator=(const CapturedProcess&) = delete;
  ~CapturedProcess() override { end(); }

  bool any_ended() override;
  std::string last_words() override;

  // Waits for its end. False if it still runs then.
  bool wait(Duration patience);
  int exit_code() const { return exit_code_; }  // after its end; 128 and the signal's number if killed

 private:
  ChildOptions child_options(const Options& options) const;
  void end();
  std::string output() const;

  int end_signal_;
  Descriptor output_;
  ChildProcess process_;
  int exit_code_ = 0;
};

}  // namespace starling::cli
