// Several tasks at once: when_all waits for every one, when_any for the first and cancels the rest.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "starling/runtime/scope.h"
#include "starling/runtime/task.h"

namespace starling::runtime {

namespace detail {

template <class T>
Task<> store(Task<T> task, std::optional<T>& slot) {
  slot.emplace(co_await task);
}

inline Task<> store_index(Task<> task, std::size_t index, std::optional<std::size_t>& slot) {
  co_await task;
  slot = index;
}

template <class... Tasks>
std::vector<Task<>> to_vector(Tasks&&... tasks) {
  std::vector<Task<>> all;
  all.reserve(sizeof...(tasks));
  (all.push_back(std::move(tasks)), ...);
  return all;
}

}  // namespace detail

// The first failure cancels the others and is thrown.
inline Task<> when_all(std::vector<Task<>> tasks) {
  Scope scope(co_await this_context());
  for (auto& task : tasks) scope.spawn(std::move(task));
  co_await scope.join();
}

template <class T>
Task<std::vector<T>> when_all(std::vector<Task<T>> tasks) {
  std::vector<std::optional<T>> slots(tasks.size());
  {
    Scope scope(co_await this_context());
    for (std::size_t i = 0; i < tasks.size(); ++i) scope.spawn(detail::store(std::move(tasks[i]), slots[i]));
    co_await scope.join();
  }
  std::vector<T> results;
  results.reserve(slots.size());
  for (auto& slot : slots) results.push_back(std::move(*slot));
  co_return results;
}

template <class... More>
Task<> when_all(Task<> first, More... more) {
  return when_all(detail::to_vector(std::move(first), std::move(more)...));
}

// The index of the first task to end; if it failed, its error is thrown. The others are cancelled in the same
// instant, before any of them can run again.
inline Task<std::size_t> when_any(std::vector<Task<>> tasks) {
  std::optional<std::size_t> winner;
  Scope scope(co_await this_context());
  scope.race();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    scope.spawn(detail::store_index(std::move(tasks[i]), i, winner));
  }
  co_await scope.join();
  co_return winner.value();
}

template <class... More>
Task<std::size_t> when_any(Task<> first, More... more) {
  return when_any(detail::to_vector(std::move(first), std::move(more)...));
}

}  // namespace starling::runtime
