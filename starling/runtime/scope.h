// A scope owns concurrent tasks. Leaving it (its destructor) cancels the children that still run, so no task
// outlives the frame it was started from. A child that fails cancels its siblings, and join() throws that
// first error.
//
// A child must not cancel or destroy its own scope: it would destroy itself while it runs. It throws instead,
// or tells the owner through an Event.
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "starling/runtime/task.h"
#include "starling/runtime/wait.h"

namespace starling::runtime {

class Scope {
 public:
  // Children of the task that owns the scope: `Scope scope(co_await this_context());`
  explicit Scope(const Context& parent) : Scope(*parent.scheduler, &parent) {}
  // Children without a parent, for code that is not a task.
  explicit Scope(Scheduler& scheduler) : Scope(scheduler, nullptr) {}
  ~Scope() { cancel(); }

  // The child starts in this instant, but not inside this call.
  void spawn(Task<> task, std::string name = "");

  // Destroys all children; an error seen before stays for join().
  void cancel() noexcept;

  std::size_t size() const { return running_; }
  // One line per wait inside this scope: which task waits for what.
  std::string waits() const;

  class Join final : public Wait {
   public:
    Join(Scope& scope, Time deadline) : scope_(scope), deadline_(deadline) {}
    std::string describe() const override;
    bool may_stall() const override { return false; }
    bool await_ready() const { return scope_.running_ == 0; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> self) {
      begin(self, deadline_);
      scope_.joiners_.push_back(*this);
    }
    // True if all children ended, false if the deadline came first (they go on). Throws the first error.
    bool await_resume() const;

   private:
    Scope& scope_;
    Time deadline_;
  };
  [[nodiscard]] Join join() { return {*this, Time(kForever)}; }
  [[nodiscard]] Join join_until(Time deadline) { return {*this, deadline}; }

  // The first child to end, well or not, cancels the others. For when_any.
  void race() { race_ = true; }

 private:
  struct ChildTag;
  struct Child;

  Scope(Scheduler& scheduler, const Context* parent) : context_{&scheduler, parent, ""} {}
  void child_finished(Child& child) noexcept;
  void destroy(List<Child, ChildTag>& children) noexcept;

  Context context_;
  List<Child, ChildTag> children_;
  List<Child, ChildTag> ended_;  // freed later: at its last instant a child is still on the stack
  std::size_t running_ = 0;
  bool race_ = false;
  std::exception_ptr error_;
  Wait::Queue joiners_;
};

}  // namespace starling::runtime
