// The output of a launched process, line by line: each gets a prefix and is one write(2).
//
// Lines about the progress of the run (join::kProgressPrefix) are shown apart: on a terminal as one line that
// is written over and over, elsewhere now and then.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace starling::launch {

class PrefixedLines {
 public:
  enum class Progress {
    kNone,      // there are no lines about it
    kTerminal,  // `output` is a terminal
    kNowAndThen,
  };

  PrefixedLines(std::string prefix, int output, Progress progress = Progress::kNone)
      : prefix_(std::move(prefix)), output_(output), progress_(progress) {}

  void add(std::string_view text);
  // Calls `seen` once, for the first line that ends in `text`, which is not passed on.
  void await(std::string text, std::function<void()> seen);
  // The rest, which has no line end.
  void flush();

 private:
  using Clock = std::chrono::steady_clock;

  bool is_awaited(std::string_view& line);
  void pass_on(std::string_view line);
  void show_progress(std::string_view text);
  void write_all(std::string_view text) const;

  std::string prefix_;
  int output_;
  Progress progress_;
  Clock::time_point shown_{};
  std::string rest_;
  std::string awaited_;
  std::function<void()> seen_;
};

// How progress is shown on a descriptor, if it is wanted.
PrefixedLines::Progress progress_on(int output, bool wanted);

}  // namespace starling::launch
