// A question of the user's thread that the engine's thread answers beside the strategy, one at a time.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "starling/core/error.h"
#include "starling/runtime/event.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/runtime/task.h"

namespace starling::session {

template <class Request, class Answer>
class EngineCall {
 public:
  // `what` is asked for, in the plural: "shares".
  explicit EngineCall(std::string what)
      : what_(std::move(what)), asked_("a request for " + what_, runtime::Event::Kind::kRare) {}

  // The user's thread. Blocks until the engine has answered; throws what it could not do, and what it ended
  // with if it ends meanwhile.
  Answer ask(runtime::LoopScheduler& loop, Request request) {
    loop.post([this, request = std::move(request)]() mutable {
      request_ = std::move(request);
      asked_.set();
    });
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [this] { return answer_ || error_ || closed_; });
    if (error_) std::rethrow_exception(closed_ ? error_ : std::exchange(error_, nullptr));
    if (!answer_) throw Error(concat("there are no more ", what_, ": the run is over"));
    Answer answer = std::move(*answer_);
    answer_.reset();
    return answer;
  }

  // The engine's thread. `find` returns a Task<Answer>. Never returns.
  template <class Find>
  runtime::Task<> run(Find find) {
    for (;;) {
      co_await asked_;
      asked_.reset();
      std::optional<Answer> answer;
      std::exception_ptr error;
      try {
        runtime::Task<Answer> found = find(std::move(*request_));
        answer.emplace(co_await found);
      } catch (const Error&) {
        error = std::current_exception();
      }
      hand_over(std::move(answer), std::move(error));  // not before this thread has let go of the error
    }
  }

  // The engine's thread: no request will be answered any more.
  void close(std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      if (!error_) error_ = std::move(error);
    }
    answered_.notify_one();
  }

 private:
  void hand_over(std::optional<Answer> answer, std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      answer_ = std::move(answer);
      error_ = std::move(error);
    }
    answered_.notify_one();
  }

  const std::string what_;

  // The engine's thread.
  std::optional<Request> request_;
  runtime::Event asked_;

  // Both.
  std::mutex mutex_;
  std::condition_variable answered_;
  std::optional<Answer> answer_;
  std::exception_ptr error_;  // instead of the answer
  bool closed_ = false;
};

}  // namespace starling::session
