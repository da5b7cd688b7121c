// Identifies the running task: each spawned task has a context, and everything it awaits inherits it. Reports
// of deadlocks and time-outs are made from these names.
#pragma once

#include <string>

namespace starling::runtime {

class Scheduler;

struct Context {
  Scheduler* scheduler = nullptr;
  const Context* parent = nullptr;  // outlives this one: a scope lives in the frame of its parent
  std::string name;

  bool inside(const Context& other) const {
    for (const Context* at = this; at != nullptr; at = at->parent) {
      if (at == &other) return true;
    }
    return false;
  }

  // "rank 3/exchange"; unnamed levels are left out.
  std::string path() const {
    std::string above = parent != nullptr ? parent->path() : "";
    if (name.empty()) return above;
    return above.empty() ? name : above + "/" + name;
  }
};

}  // namespace starling::runtime
