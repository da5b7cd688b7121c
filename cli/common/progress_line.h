// A line on the terminal that is written over and over.
#pragma once

#include <chrono>
#include <string>

namespace starling::cli {

// Written to stderr, and only if that is a terminal. Removed with the object.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Whether it is time for a new text: a few times per second.
  bool due() const;
  void show(const std::string& text);

 private:
  using WallClock = std::chrono::steady_clock;

  bool shown_;
  bool drawn_ = false;
  WallClock::time_point last_ = WallClock::now();
};

}  // namespace starling::cli
