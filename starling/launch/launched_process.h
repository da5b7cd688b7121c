// A worker that a launcher started, itself or through an agent: its output comes back line by line, its end
// is noticed.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "starling/core/child_process.h"
#include "starling/core/descriptor.h"
#include "starling/launch/prefixed_lines.h"
#include "starling/runtime/loop_scheduler.h"

namespace starling::launch {

class LaunchedProcess {
 public:
  struct Start {
    std::optional<std::string> prefix;  // without, it writes where this process writes
    std::vector<std::string> command;
    Variables variables;
    sigset_t mask{};  // of signals
    // The command is an agent, and this is for the shell that it reaches (remote_command.h): the program
    // runs there.
    std::optional<std::string> script = {};
    bool progress = false;  // it writes progress lines
  };

  // Both are called from the loop.
  struct Watch {
    std::function<void()> ended;  // once, when it has ended and all of its output has been passed on, as
                                  // far as it and its process group wrote it
    std::function<void()> started = nullptr;  // once, when an agent has started the program
  };

  // Starts it. It leads a process group of its own and dies with this process.
  LaunchedProcess(runtime::LoopScheduler& loop, const Start& start, Watch watch);
  // Kills it and its children if it still runs.
  ~LaunchedProcess();
  LaunchedProcess(const LaunchedProcess&) = delete;
  LaunchedProcess& operator=(const LaunchedProcess&) = delete;

  pid_t pid() const { return process_->pid(); }
  bool running() const { return process_->running(); }
  // Signals the program and its children, wherever they are.
  void signal(int number) const;
  // Kills the program and its children if it is stopped, and was so at the call before.
  void kill_if_stopped();
  // Kills the process itself, an agent that does not come to its end.
  void abandon() const;
  // Has the program been started? If not, its agent could not do it.
  bool started() const { return started_; }

  // After its end: 128 and the number of the signal that killed it, as in a shell.
  int exit_code() const { return end_.shell_code(); }
  // "exit code 3", "signal 9 (Killed)"
  std::string how_ended() const { return end_.text(); }

 private:
  struct Stream {
    Descriptor pipe;
    PrefixedLines lines;
    bool open = false;
  };

  void open(Stream& stream, Descriptor pipe);
  void converse(const std::string& script);
  bool read_from(Stream& stream);
  void close(Stream& stream);
  void collect();

  runtime::LoopScheduler& loop_;
  Watch watch_;
  bool started_;
  std::optional<ChildProcess> process_;
  Descriptor handle_;   // readable when it has ended
  Descriptor channel_;  // an agent's standard input
  Stream out_;
  Stream err_;
  ProcessEnd end_;
  bool was_stopped_ = false;
};

}  // namespace starling::launch
