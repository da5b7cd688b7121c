#include "starling/transport/shm/link_gate.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace starling::transport::shm {

namespace {

// Both are at most kForever, and so is the sum: times never overflow, however slow the link.
Time later(Time from, Duration by) { return std::min(from + by, Time(kForever)); }

}  // namespace

Uplink::Uplink(runtime::Scheduler& scheduler, const Link& link, Step begins, Step left)
    : scheduler_(scheduler), link_(link), begins_(std::move(begins)), left_(std::move(left)) {}

// Messages that should have left by now leave first. So a message that is still in the queue leaves after
// this instant, and the next can begin exactly when the one before it has left, however late that is noticed.
void Uplink::send(Sending& sending) {
  let_go();
  queue_.push_back(sending);
  if (leaving_ == nullptr) begin(scheduler_.now());
}

void Uplink::begin(Time at) {
  if (queue_.empty()) return;
  leaving_ = &static_cast<Sending&>(queue_.pop_front());
  free_ = later(at, link_.time_for(leaving_->bytes()));
  leaving_->flight.arrives = later(free_, link_.latency);
  scheduler_.at(free_, alarm_);
  begins_(*leaving_);
}

void Uplink::let_go() {
  while (leaving_ != nullptr && free_ <= scheduler_.now()) {
    left_(*std::exchange(leaving_, nullptr));
    begin(free_);
  }
}

void Uplink::act() {
  if (leaving_ == nullptr) return begin(free_);
  let_go();
}

// The next message begins in a wakeup of its own: the caller that withdraws does not pay for it.
void Uplink::withdraw(Sending& sending) noexcept {
  sending.unlink();
  if (leaving_ != &sending) return;
  leaving_ = nullptr;
  free_ = scheduler_.now();
  scheduler_.soon(alarm_);
}

void Uplink::fail(Rank to, const std::exception_ptr& error) {
  const auto doomed = [&](const Operation& sending) { return sending.peer() == to; };
  while (Operation* found = queue_.find(doomed)) found->fail(error);
  if (leaving_ == nullptr || !doomed(*leaving_)) return;
  Sending& sending = *leaving_;
  withdraw(sending);
  sending.fail(error);
}

Downlink::Downlink(runtime::Scheduler& scheduler, const Link& link, Deliver deliver, Lose lose)
    : scheduler_(scheduler), link_(link), deliver_(std::move(deliver)), lose_(std::move(lose)) {}

void Downlink::take(std::unique_ptr<Arrival> arrival, Time arrives) {
  const Rank from = arrival->from();
  coming_.emplace(arrives, Item{std::move(arrival), from});
  act();
}

void Downlink::take_end(Rank rank) {
  if (!ended_.insert(rank).second) return;
  const Time last = later(scheduler_.now(), link_.latency);  // for what has left the rank by now
  for (auto at = coming_.upper_bound(last); at != coming_.end();) {
    at = at->second.from == rank ? coming_.erase(at) : std::next(at);
  }
  coming_.emplace(last, Item{nullptr, rank});
  act();
}

Arrival* Downlink::next_of(Rank from, Tag tag) const {
  for (const auto& [arrives, item] : coming_) {
    if (item.from == from && item.arrival && item.arrival->tag() == tag) return item.arrival.get();
  }
  return nullptr;
}

Time Downlink::first_is_in() const {
  const auto& [arrives, item] = *coming_.begin();
  return std::max(arrives, later(free_, link_.time_for(item.arrival ? item.arrival->bytes() : 0)));
}

// Delivering may bring in more, so the first is looked up anew each time.
void Downlink::act() {
  while (!coming_.empty()) {
    const Time in = first_is_in();
    if (scheduler_.now() < in) return scheduler_.at(in, alarm_);
    free_ = in;
    Item item = std::move(coming_.extract(coming_.begin()).mapped());
    if (item.arrival) {
      deliver_(std::move(item.arrival));
    } else {
      lose_(item.from);
    }
  }
}

}  // namespace starling::transport::shm
