// A worker that a launcher started: its output comes back line by line, its end is noticed.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "starling/runtime/loop_scheduler.h"
#include "starling/transport/shm/arena.h"

namespace starling::session {

// What is written to `output` gets `prefix` before each line; a line is one write(2).
class PrefixedLines {
 public:
  PrefixedLines(std::string prefix, int output) : prefix_(std::move(prefix)), output_(output) {}
  void add(std::string_view text);
  // The rest, which has no line end.
  void flush();

 private:
  void write_line(std::string_view line) const;

  std::string prefix_;
  int output_;
  std::string rest_;
};

class LaunchedProcess {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  // Starts it. It leads a process group of its own, has the signal mask `mask`, and dies with this process.
  // Without a prefix it writes where this process writes. `ended` is called once, from the loop, when it has
  // ended and all of its output has been passed on.
  LaunchedProcess(runtime::LoopScheduler& loop, const std::optional<std::string>& prefix,
                  const std::vector<std::string>& command, const Variables& variables, const sigset_t& mask,
                  std::function<void()> ended);
  // Kills it and its children if it still runs.
  ~LaunchedProcess();
  LaunchedProcess(const LaunchedProcess&) = delete;
  LaunchedProcess& operator=(const LaunchedProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool running() const { return running_; }
  void signal(int number) const;

  // After its end: 128 and the number of the signal that killed it, as in a shell.
  int exit_code() const { return exit_code_; }
  // "exit code 3", "signal 9 (Killed)"
  std::string how_ended() const;

 private:
  struct Stream {
    transport::shm::Descriptor pipe;
    PrefixedLines lines;
    bool open = false;
  };

  void open(Stream& stream, transport::shm::Descriptor pipe);

  void read_from(Stream& stream);
  void collect();
  void finish_if_silent();

  runtime::LoopScheduler& loop_;
  std::function<void()> ended_;
  pid_t pid_ = -1;
  transport::shm::Descriptor handle_;  // readable when it has ended
  Stream out_;
  Stream err_;
  bool running_ = true;
  bool finished_ = false;
  int exit_code_ = 0;
  int signal_ = 0;
};

}  // namespace starling::session
