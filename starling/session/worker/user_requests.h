// The engine thread's requests to the user's thread: gradients, updates, calls, and the news that a section
// may be used or that the run is over. The user's thread looks here between two batches and while it waits
// for a section.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "starling/core/partition.h"
#include "starling/strategy/batch/portion.h"

namespace starling::session {

struct UserRequest {
  enum class Kind { kBatch, kUpdate, kCall, kThrough, kEnd };
  Kind kind = Kind::kBatch;
  Slice part = {};         // kUpdate: of the model
  std::uint64_t step = 0;  // kBatch, kUpdate: the parts of one step have the same number
  bool again = false;      // kBatch: the last one, which was dropped
  std::optional<strategy::Portion> portion = {};  // kBatch: of the global batch
  int together = 1;                               // kBatch: pieces that are computed as one
  double learning_rate = 0;                       // kUpdate: of that step
  std::function<void()> call = {};                // kCall
  std::chrono::steady_clock::time_point asked = std::chrono::steady_clock::now();
};

// One request at a time: the engine makes the next only after the last one was answered.
class UserRequests {
 public:
  void ask(UserRequest request) {
    {
      const std::lock_guard lock(mutex_);
      wanted_ = std::move(request);
    }
    asked_.notify_one();
  }

  // Blocks until there is one.
  UserRequest take() {
    std::unique_lock lock(mutex_);
    asked_.wait(lock, [this] { return wanted_.has_value(); });
    UserRequest request = std::move(*wanted_);
    wanted_.reset();
    return request;
  }

 private:
  std::mutex mutex_;
  std::condition_variable asked_;
  std::optional<UserRequest> wanted_;
};

}  // namespace starling::session
