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
    explicit Awaiter(Event& event, Time deadline = Time(kForever)) : event_(event), deadline_(deadline) {}
    std::string describe() const override { return event_.what_; }
    bool may_stall() const override { return event_.kind_ == Kind::kExpected; }
    bool await_ready() const { return event_.set_; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> self) {
      begin(self, deadline_);
      event_.waiters_.push_back(*this);
    }
    // False: the deadline came first.
    bool await_resume() const { return !expired(); }

   private:
    Event& event_;
    Time deadline_;
  };
  Awaiter operator co_await() { return Awaiter(*this); }
  Awaiter until(Time deadline) { return Awaiter(*this, deadline); }

 private:
  std::string what_;
  Kind kind_;
  bool set_ = false;
  Wait::Queue waiters_;
};

}  // namespace starling::runtime
