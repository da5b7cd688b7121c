// Transfers by hand on a simulated network.
#pragma once

#include <vector>

#include "starling/runtime/run.h"
#include "starling/runtime/virtual_scheduler.h"
#include "starling/transport/network.h"

namespace starling::testing {

// Starts when it is made, is cancelled when it is destroyed, and knows when it arrived.
class Parcel : public transport::Transfer {
 public:
  Parcel(runtime::VirtualScheduler& scheduler, transport::Network& network, Rank sender, Rank receiver,
         std::size_t size)
      : Transfer(&Parcel::on_arrival), scheduler_(scheduler), network_(network), started_(scheduler.now()) {
    from = sender;
    to = receiver;
    bytes = size;
    network.start(scheduler, *this);
  }
  ~Parcel() { network_.cancel(*this); }

  bool here() const { return here_; }
  Time started() const { return started_; }
  Time arrived() const { return arrived_; }

 private:
  static void on_arrival(Wakeup& self) {
    auto& parcel = static_cast<Parcel&>(self);
    parcel.arrived_ = parcel.scheduler_.now();
    parcel.here_ = true;
  }

  runtime::VirtualScheduler& scheduler_;
  transport::Network& network_;
  Time started_;
  Time arrived_{};
  bool here_ = false;
};

// Everything before `time` has happened, and of that instant what was queued before.
inline void run_until(runtime::VirtualScheduler& scheduler, Time time) {
  bool done = false;
  struct Alarm : runtime::Wakeup {
    explicit Alarm(bool& flag) : Wakeup(&Alarm::ring), done(flag) {}
    static void ring(Wakeup& self) { static_cast<Alarm&>(self).done = true; }
    bool& done;
  } alarm(done);
  scheduler.at(time, alarm);
  scheduler.drive([](void* flag) { return *static_cast<bool*>(flag); }, &done);
}

// Rank r on host r.
inline std::vector<int> one_rank_each(int ranks) {
  std::vector<int> hosts;
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(rank);
  return hosts;
}

}  // namespace starling::testing
