// Real time, one thread: runs what is ready, asks its sources for news, and when there is nothing to do parks
// in epoll until a descriptor, a post from another thread or the next timer.
//
// Parking is announced before the last look: a source that other processes write to raises its "parked" flag,
// looks once more, and only then sleeps; a writer rings the doorbell only if it sees the flag. The second in
// that race sees the first, so no wakeup is lost and a busy rank is never rung.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "starling/core/descriptor.h"
#include "starling/runtime/scheduler.h"

namespace starling::runtime {

// Something a loop looks at in every round, such as queues in shared memory.
class Source {
 public:
  // True if there was something to do.
  virtual bool poll() = 0;
  // Called with true before the last poll ahead of parking, with false afterwards.
  virtual void set_parked(bool) {}
  // Whether there is a core for this thread alone: no more runnable workers than cores.
  virtual bool may_spin() const { return true; }

 protected:
  ~Source() = default;
};

class LoopScheduler final : public Scheduler {
 public:
  // How long to look for news before parking: spinning while there is a core for this thread alone, else
  // yielding the core between two looks.
  struct Options {
    Duration spin = std::chrono::microseconds(50);
    Duration yield = std::chrono::microseconds(50);
    Duration stall = std::chrono::seconds(10);  // a wait this long is logged, again after twice the time
  };

  LoopScheduler() : LoopScheduler(Options{}) {}
  explicit LoopScheduler(Options options);

  Time now() const override;
  // Where now() is 0, on the clock that all processes of the host share.
  std::chrono::steady_clock::time_point start() const { return start_; }
  void drive(bool (*finished)(void*), void* argument) override;

  // Safe from any thread: `work` runs on the loop's thread. All other functions are for the loop's thread
  // only.
  void post(std::function<void()> work);

  void add(Source& source) { sources_.push_back(&source); }
  void remove(Source& source);

  // Calls `ready` whenever the descriptor is readable.
  void watch(int descriptor, std::function<void()> ready);
  void unwatch(int descriptor);

 private:
  bool run_batch(bool (*finished)(void*), void* argument);
  bool poll_sources();
  bool run_posted();
  void look_at_descriptors(Duration patience);
  bool linger(bool (*finished)(void*), void* argument);
  bool may_spin() const;
  void park();
  void warn_of_stalls();
  void set_parked(bool parked);

  Options options_;
  std::chrono::steady_clock::time_point start_;
  Descriptor epoll_;
  Descriptor doorbell_;
  std::atomic<bool> parked_ = false;
  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;
  std::atomic<bool> has_posted_ = false;
  std::vector<Source*> sources_;
  std::map<int, std::function<void()>> watched_;
  Time last_look_{};
  Time next_warning_{};
  Duration warning_interval_{};
};

}  // namespace starling::runtime
