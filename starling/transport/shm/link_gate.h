// The emulated link of a rank, full duplex: outgoing and incoming messages pass it one at a time.
//
// A message of b bytes occupies the sender's outgoing side for b/B, after those sent before it, and arrives a
// latency later. It occupies the receiver's incoming side for b/B up to its arrival, after those that arrived
// before it. So a lone message costs L + b/B, and the last of n that come from n ranks at once has arrived
// after L + n b/B.
//
// The order is strict on both sides. That is the simplest rule: nothing starves, but a small message waits
// for the large ones before it, where connections of a real network would share.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "starling/runtime/scheduler.h"
#include "starling/transport/alarm.h"
#include "starling/transport/link.h"
#include "starling/transport/matcher.h"
#include "starling/transport/operation.h"

namespace starling::transport::shm {

class Uplink {
 public:
  // Called when a message begins to leave, out of the queue, and when it has left. flight.arrives says when
  // it arrives. Must not throw.
  using Step = std::function<void(Sending&)>;

  Uplink(runtime::Scheduler& scheduler, const Link& link, Step begins, Step left);

  // Queues the message.
  void send(Sending& sending);
  // Does nothing if it has left. The rest of its time is free for those behind it.
  void withdraw(Sending& sending) noexcept;
  // Notices what has left by now.
  void let_go();
  // Fails the messages to that rank.
  void fail(Rank to, const std::exception_ptr& error);

 private:
  void begin(Time at);
  void act();

  runtime::Scheduler& scheduler_;
  Link link_;
  Step begins_;
  Step left_;
  Operation::Queue queue_;  // those that have not begun
  Sending* leaving_ = nullptr;
  Time free_{};  // when it has left
  Alarm<Uplink, &Uplink::act> alarm_{*this};
};

class Downlink {
 public:
  using Deliver = std::function<void(std::unique_ptr<Arrival>)>;
  using Lose = std::function<void(Rank)>;

  Downlink(runtime::Scheduler& scheduler, const Link& link, Deliver deliver, Lose lose);

  // The message is delivered at that time, or later if the link is busy then.
  void take(std::unique_ptr<Arrival> arrival, Time arrives);
  // The rank has ended. That news arrives behind the messages that had left it; those that had not never
  // arrive. A second call has no effect.
  void take_end(Rank rank);

  // The next message of that stream which is not delivered yet, or null.
  Arrival* next_of(Rank from, Tag tag) const;
  template <class Visitor>
  void for_each(Visitor visit) const {
    for (const auto& [arrives, item] : coming_) {
      if (item.arrival) visit(*item.arrival);
    }
  }

 private:
  struct Item {
    std::unique_ptr<Arrival> arrival;  // null: the news of an end
    Rank from = 0;
  };

  Time first_is_in() const;
  void act();

  runtime::Scheduler& scheduler_;
  Link link_;
  Deliver deliver_;
  Lose lose_;
  std::multimap<Time, Item> coming_;  // by arrival; what arrives at once in the order of taking
  std::set<Rank> ended_;
  Time free_{-kForever};  // a message may have arrived before our time began
  Alarm<Downlink, &Downlink::act> alarm_{*this};
};

struct LinkGate {
  LinkGate(runtime::Scheduler& scheduler, const Link& link, Uplink::Step begins, Uplink::Step left,
           Downlink::Deliver deliver, Downlink::Lose lose)
      : out(scheduler, link, std::move(begins), std::move(left)),
        in(scheduler, link, std::move(deliver), std::move(lose)) {}
  Uplink out;
  Downlink in;
};

}  // namespace starling::transport::shm
