// Time in tasks: sleep, and a limit on how long a task may take.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "starling/core/error.h"
#include "starling/runtime/scope.h"
#include "starling/runtime/when.h"

namespace starling::runtime {

// co_await sleep_until(t): goes on at t, at once if t has passed.
class sleep_until final : public Wait {
 public:
  explicit sleep_until(Time time) : time_(time) {}
  std::string describe() const override { return concat("time ", format_duration(time_.time_since_epoch())); }
  bool may_stall() const override { return false; }
  bool await_ready() const { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) {
    begin(self, time_);
  }
  void await_resume() const {}

 private:
  Time time_;
};

inline Task<> sleep_for(Duration duration) {
  const Context& context = co_await this_context();
  co_await sleep_until(context.scheduler->now() + duration);
}

// co_await yield(): lets everything else that is ready run first.
class yield final : public Wait {
 public:
  std::string describe() const override { return "its turn"; }
  bool await_ready() const { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) {
    begin(self);
    wake();
  }
  void await_resume() const {}
};

namespace detail {

// Joins the scope or throws a Timeout that says what its children were waiting for.
inline Task<> join_within(Scope& scope, Duration limit, std::string what) {
  const Context& context = co_await this_context();
  if (co_await scope.join_until(context.scheduler->now() + limit)) co_return;
  const std::string waits = scope.waits();
  throw Timeout(concat(what, ": not done after ", format_duration(limit), waits.empty() ? "" : "; ", waits));
}

}  // namespace detail

// The task's result, or a Timeout that names `what` and what it was waiting for; the task is then cancelled.
template <class T>
Task<T> with_deadline(Duration limit, std::string what, Task<T> task) {
  std::optional<T> result;
  Scope scope(co_await this_context());
  scope.spawn(detail::store(std::move(task), result));
  co_await detail::join_within(scope, limit, std::move(what));
  co_return std::move(*result);
}

inline Task<> with_deadline(Duration limit, std::string what, Task<> task) {
  Scope scope(co_await this_context());
  scope.spawn(std::move(task));
  co_await detail::join_within(scope, limit, std::move(what));
}

}  // namespace starling::runtime
