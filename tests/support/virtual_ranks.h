// Ranks as tasks on virtual time: start some for each rank, maybe have ranks killed at some events, and run.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "starling/core/random.h"
#include "starling/core/text.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/scope.h"
#include "starling/runtime/task.h"
#include "starling/runtime/virtual_scheduler.h"
#include "starling/transport/inproc.h"
#include "starling/transport/network.h"

namespace starling::testing {

class VirtualRanks {
 public:
  using Link = transport::AlphaBeta::Link;

  // With a seed, events of one instant run in a random order.
  explicit VirtualRanks(int ranks, Link link = Link(), std::optional<std::uint64_t> seed = {})
      : scheduler_(seed ? runtime::VirtualScheduler(*seed) : runtime::VirtualScheduler()),
        network_(link),
        world_(scheduler_, ranks, network_),
        states_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) scopes_.emplace_back(scheduler_);
  }

  int size() const { return world_.size(); }
  transport::Transport& at(Rank rank) { return world_.at(rank); }
  transport::InprocWorld& world() { return world_; }
  runtime::VirtualScheduler& scheduler() { return scheduler_; }
  double seconds() const {
    return std::chrono::duration<double>(scheduler_.now().time_since_epoch()).count();
  }

  // A rank may have several tasks.
  void start(Rank rank, runtime::Task<> task) {
    ++state(rank).running;
    scopes_[static_cast<std::size_t>(rank)].spawn(record(std::move(task), state(rank)),
                                                  concat("rank ", rank));
  }

  // The same for a task beside the rank's tasks: nothing waits for its end, only its error counts.
  void start_beside(Rank rank, runtime::Task<> task, std::string name) {
    scopes_[static_cast<std::size_t>(rank)].spawn(record_error(std::move(task), state(rank)),
                                                  concat("rank ", rank, ", ", name));
  }

  // After that many events the rank's tasks end where they are, and all ranks learn of it. May be called
  // while the ranks run, and for several ranks.
  void kill_at(std::uint64_t event, Rank rank) { deaths_.emplace_back(event, rank); }

  // Ranks learn of a death up to so much later, each at another time.
  void learn_late(Duration latest, std::uint64_t seed) {
    latest_ = latest;
    random_ = Random(seed);
  }

  // Until all tasks have ended; their errors are in error(). Throws Deadlock.
  void run() {
    scheduler_.drive([](void* self) { return static_cast<VirtualRanks*>(self)->finished(); }, this);
  }

  // body(rank, transport) on every rank; throws the first error of the lowest rank that has one.
  template <class Body>
  void run_all(const Body& body) {
    for (Rank rank = 0; rank < size(); ++rank) start(rank, body(rank, at(rank)));
    run();
    for (Rank rank = 0; rank < size(); ++rank) {
      if (error(rank)) std::rethrow_exception(error(rank));
    }
  }

  bool killed(Rank rank) const { return states_[static_cast<std::size_t>(rank)].killed; }
  const std::exception_ptr& error(Rank rank) const { return states_[static_cast<std::size_t>(rank)].error; }

 private:
  struct State {
    int running = 0;
    bool killed = false;
    std::exception_ptr error;
  };

  static runtime::Task<> record_error(runtime::Task<> task, State& state) {
    try {
      co_await task;
    } catch (...) {
      if (!state.error) state.error = std::current_exception();
    }
  }

  static runtime::Task<> record(runtime::Task<> task, State& state) {
    co_await record_error(std::move(task), state);
    --state.running;
  }

  void kill(Rank rank) {
    if (std::exchange(state(rank).killed, true)) return;
    scopes_[static_cast<std::size_t>(rank)].cancel();
    state(rank).running = 0;
    if (latest_ == Duration(0)) return world_.lose(rank, kWhy);
    for (Rank observer = 0; observer < size(); ++observer) {
      const Duration after(
          static_cast<Duration::rep>(random_.uniform() * static_cast<double>(latest_.count())));
      reports_.spawn(report(observer, rank, after), concat("loss of ", rank, " at ", observer));
    }
  }

  runtime::Task<> report(Rank observer, Rank rank, Duration after) {
    co_await runtime::sleep_for(after);
    world_.lose_at(observer, rank, kWhy);
  }

  bool finished() {
    for (std::size_t i = 0; i < deaths_.size();) {
      const auto [event, rank] = deaths_[i];
      if (scheduler_.events() < event) {
        ++i;
      } else {
        deaths_.erase(deaths_.begin() + static_cast<std::ptrdiff_t>(i));
        kill(rank);
      }
    }
    for (const State& one : states_) {
      if (one.running > 0) return false;
    }
    return true;
  }

  State& state(Rank rank) { return states_[static_cast<std::size_t>(rank)]; }

  static constexpr const char* kWhy = "killed by the test";

  runtime::VirtualScheduler scheduler_;
  transport::AlphaBeta network_;
  transport::InprocWorld world_;
  std::vector<State> states_;
  std::vector<std::pair<std::uint64_t, Rank>> deaths_;  // those to come
  Duration latest_{};
  Random random_{1};
  runtime::Scope reports_{scheduler_};
  std::deque<runtime::Scope> scopes_;  // last: tasks go before what they use
};

// 0, 1, ..., members - 1
inline Group everyone(int members) {
  Group group;
  for (Rank rank = 0; rank < members; ++rank) group.push_back(rank);
  return group;
}

}  // namespace starling::testing
