// The processes behind one subject of the benchmark.
#pragma once

#include <string>

namespace starling::cli {

// Destroying it ends the processes that still run.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  // Whether one has ended, without waiting for it.
  virtual bool any_ended() = 0;
  // Ends them all. Returns their last output or how they ended, in one line; empty if unknown.
  virtual std::string last_words() = 0;
};

}  // namespace starling::cli
