// One suspended `co_await`: the base of every awaiter in the library. While it waits it is in the queue of
// what it waits for, in the scheduler's list of waits, and maybe among the timers; destroying it (which
// happens when its coroutine's frame is destroyed) removes it from all three.
#pragma once

#include <coroutine>
#include <string>

#include "starling/core/types.h"
#include "starling/runtime/context.h"
#include "starling/runtime/scheduler.h"

namespace starling::runtime {

struct QueueTag;

class Wait : public Hook<QueueTag>, public Hook<RegistryTag> {
 public:
  using Queue = List<Wait, QueueTag>;

  Wait() : resume_(*this), timer_(*this) {}
  virtual ~Wait() = default;

  // Names what is waited for, as a noun: "message 7 from rank 3".
  virtual std::string describe() const = 0;
  // Whether a long wait deserves a warning. It does not if it only passes time, or waits for tasks that are
  // listed too.
  virtual bool may_stall() const { return true; }

  const Context& context() const { return *context_; }
  Time since() const { return since_; }
  bool waiting() const { return Hook<RegistryTag>::linked(); }
  bool expired() const { return expired_; }

  // Takes the wait out of the queue of what it waits for.
  void unqueue() noexcept { Hook<QueueTag>::unlink(); }

  // Ends the wait: the coroutine runs in this instant, after what is queued already.
  void wake() {
    leave();
    context_->scheduler->soon(resume_);
  }

 protected:
  // Called from await_suspend. Promise types carry the context of their task.
  template <class Promise>
  void begin(std::coroutine_handle<Promise> handle, Time deadline = Time(kForever)) {
    begin(handle, handle.promise().context(), deadline);
  }

  // The deadline passed. Overridden to take back requests to others.
  virtual void expire() {}

 private:
  struct Resume : Wakeup {
    explicit Resume(Wait& owner) : Wakeup(&Resume::run), wait(owner) {}
    static void run(Wakeup& self) { static_cast<Resume&>(self).wait.handle_.resume(); }
    Wait& wait;
  };
  struct Timer : Wakeup {
    explicit Timer(Wait& owner) : Wakeup(&Timer::run), wait(owner) {}
    static void run(Wakeup& self) { static_cast<Timer&>(self).wait.on_deadline(); }
    Wait& wait;
  };

  void begin(std::coroutine_handle<> handle, const Context& context, Time deadline) {
    handle_ = handle;
    context_ = &context;
    since_ = context.scheduler->now();
    expired_ = false;
    context.scheduler->waiting_.push_back(*this);
    if (deadline < Time(kForever)) context.scheduler->at(deadline, timer_);
  }

  void leave() noexcept {
    unqueue();
    Hook<RegistryTag>::unlink();
    timer_.cancel();
  }

  void on_deadline() {
    expired_ = true;
    expire();
    if (waiting()) wake();
  }

  std::coroutine_handle<> handle_;
  const Context* context_ = nullptr;
  Time since_{};
  bool expired_ = false;
  Resume resume_;
  Timer timer_;
};

}  // namespace starling::runtime
