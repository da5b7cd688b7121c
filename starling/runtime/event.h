// A flag that tasks can wait for. Stays set until reset; setting it wakes every task that waits.
#pragma once

#include <string>
#include <utility>

#include "starling/runtime/wait.h"

namespace starling::runtime {

class Event {
 public:
  // `what` names the event in reports. A rare event depends on code that owes us no haste, such as the user's
  // program that computes: a long wait for it causes no warning.
  enum class Kind { kExpected, kRare };
  explicit Event(std::string what = "an event", Kind kind = Kind::kExpected)
      : what_(std::move(what)), kind_(kind) {}

  // For an event that stands for something else each time.
  void rename(std::string what) { what_ = std::move(what); }

  bool is_set() const { return set_; }
  void reset() { set_ = false; }
  void set() {
    set_ = true;
    pulse();
  }
  // Wakes the tasks that wait now and leaves the flag as it is.
  void pulse() {
    while (!waiters_.empty()) waiters_.front().wake();
  }

  class Awaiter final : public Wait {
   public:
    explicit Awaiter(Event& event) : event_(event) {}
    std::string describe() const override { return event_.what_; }
    bool may_stall() const override { return event_.kind_ == Kind::kExpected; }
    bool await_ready() const { return event_.set_; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> self) {
      begin(self);
      event_.waiters_.push_back(*this);
    }
    void await_resume() const {}

   private:
    Event& event_;
  };
  Awaiter operator co_await() { return Awaiter(*this); }

 private:
  std::string what_;
  Kind kind_;
  bool set_ = false;
  Wait::Queue waiters_;
};

}  // namespace starling::runtime
