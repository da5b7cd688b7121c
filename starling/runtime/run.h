// From plain code into tasks: runs a scheduler until one task is done.
#pragma once

#include <string>
#include <utility>

#include "starling/runtime/scheduler.h"
#include "starling/runtime/task.h"

namespace starling::runtime {

// The task's result, or its exception; on a VirtualScheduler also Deadlock, when nothing can run any more.
template <class T>
T run(Scheduler& scheduler, Task<T> task, std::string name = "main") {
  struct Root final : Completion {
    void finished() noexcept override { done = true; }
    bool done = false;
  } root;
  const Context context{&scheduler, nullptr, std::move(name)};
  Task<T> body = std::move(task);  // dies before its context if drive() throws
  body.handle().promise().set_context(context);
  body.handle().promise().set_completion(root);

  struct Start : Wakeup {
    explicit Start(typename Task<T>::Handle h) : Wakeup(&Start::go), handle(h) {}
    static void go(Wakeup& self) { static_cast<Start&>(self).handle.resume(); }
    typename Task<T>::Handle handle;
  } start(body.handle());
  scheduler.soon(start);
  scheduler.drive([](void* done) { return *static_cast<bool*>(done); }, &root.done);
  return body.result();
}

}  // namespace starling::runtime
