// Task<T>: a lazy coroutine. It starts when it is awaited (or spawned into a Scope), its result or exception
// reaches the awaiter, and destroying it while it is suspended cancels it together with all it waits for.
//
// Awaiting starts the child on the awaiter's stack and suspends only if the child did not finish at once, so
// a loop over tasks that never really wait does not grow the stack, also in builds that do not turn symmetric
// transfer into tail calls. A child that finishes later hands over to its awaiter by symmetric transfer.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "starling/runtime/context.h"

namespace starling::runtime {

template <class T>
class Task;

// Is notified when a task that nothing awaits has finished: a scope, or the function that drives a scheduler.
class Completion {
 public:
  virtual void finished() noexcept = 0;

 protected:
  ~Completion() = default;
};

class PromiseBase {
 public:
  std::suspend_always initial_suspend() noexcept { return {}; }

  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      PromiseBase& promise = self.promise();
      if (promise.completion_ != nullptr) promise.completion_->finished();
      return promise.awaiter_;
    }
    void await_resume() const noexcept {}
  };
  Final final_suspend() noexcept { return {}; }

  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  const Context& context() const { return *context_; }
  const std::exception_ptr& error() const { return error_; }

  void set_context(const Context& context) { context_ = &context; }
  void set_awaiter(std::coroutine_handle<> awaiter) { awaiter_ = awaiter; }
  void set_completion(Completion& completion) { completion_ = &completion; }

 protected:
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::coroutine_handle<> awaiter_ = std::noop_coroutine();
  Completion* completion_ = nullptr;
  const Context* context_ = nullptr;
  std::exception_ptr error_;
};

template <class T>
class Promise : public PromiseBase {
 public:
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T result() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class Promise<void> : public PromiseBase {
 public:
  Task<void> get_return_object();
  void return_void() noexcept {}
  void result() const { rethrow(); }
};

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      destroy();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~Task() { destroy(); }

  bool valid() const { return static_cast<bool>(handle_); }
  bool done() const { return handle_.done(); }
  T result() { return handle_.promise().result(); }

  // For code that runs a task without awaiting it.
  Handle handle() const { return handle_; }

  struct Awaiter {
    Handle child;
    bool await_ready() const noexcept { return false; }
    template <class Parent>
    bool await_suspend(std::coroutine_handle<Parent> parent) const {
      child.promise().set_context(parent.promise().context());
      child.resume();
      if (child.done()) return false;
      child.promise().set_awaiter(parent);
      return true;
    }
    T await_resume() const { return child.promise().result(); }
  };
  Awaiter operator co_await() const& noexcept { return Awaiter{handle_}; }

 private:
  void destroy() noexcept {
    if (handle_) std::exchange(handle_, {}).destroy();
  }

  Handle handle_;
};

template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

// `co_await this_context()`: the context of the running task, without suspending.
struct this_context {
  const Context* context = nullptr;
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    context = &self.promise().context();
    return false;
  }
  const Context& await_resume() const noexcept { return *context; }
};

}  // namespace starling::runtime
