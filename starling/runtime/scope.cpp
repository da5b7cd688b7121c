#include "starling/runtime/scope.h"

#include <utility>

#include "starling/core/text.h"

namespace starling::runtime {

struct Scope::Child final : Hook<ChildTag>, Completion {
  Child(Scope& owner, Task<> body, std::string name)
      : scope(owner),
        context{owner.context_.scheduler, &owner.context_, std::move(name)},
        task(std::move(body)),
        start(*this) {
    task.handle().promise().set_context(context);
    task.handle().promise().set_completion(*this);
  }

  void finished() noexcept override { scope.child_finished(*this); }

  struct Start : Wakeup {
    explicit Start(Child& owner) : Wakeup(&Start::run), child(owner) {}
    static void run(Wakeup& self) { static_cast<Start&>(self).child.task.handle().resume(); }
    Child& child;
  };

  Scope& scope;
  Context context;
  Task<> task;
  Start start;
};

void Scope::spawn(Task<> task, std::string name) {
  destroy(ended_);
  auto* child = new Child(*this, std::move(task), std::move(name));
  children_.push_back(*child);
  ++running_;
  context_.scheduler->soon(child->start);
}

void Scope::child_finished(Child& child) noexcept {
  child.Hook<ChildTag>::unlink();
  ended_.push_back(child);
  --running_;
  const std::exception_ptr error = child.task.handle().promise().error();
  if (error && !error_) error_ = error;
  if (error || race_) {
    destroy(children_);
    running_ = 0;
  }
  if (running_ == 0) {
    while (!joiners_.empty()) joiners_.front().wake();
  }
}

void Scope::cancel() noexcept {
  destroy(children_);
  destroy(ended_);
  running_ = 0;
  while (!joiners_.empty()) joiners_.front().wake();
}

void Scope::destroy(List<Child, ChildTag>& children) noexcept {
  while (!children.empty()) delete &children.pop_front();
}

std::string Scope::waits() const { return context_.scheduler->waits(&context_); }

std::string Scope::Join::describe() const {
  std::string names;
  scope_.children_.for_each([&](const Child& child) {
    if (!names.empty()) names += ", ";
    names += child.context.name.empty() ? "a task" : child.context.name;
  });
  return concat("the end of ", names);
}

bool Scope::Join::await_resume() const {
  if (scope_.error_) std::rethrow_exception(scope_.error_);
  return !expired() || scope_.running_ == 0;
}

}  // namespace starling::runtime
