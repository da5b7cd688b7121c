#include "starling/sim/host_network.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <utility>

#include "starling/core/error.h"

namespace starling::sim {

using runtime::Scheduler;
using transport::Transfer;

namespace {

constexpr double kNanoseconds = 1e9;

Duration time_for(double bytes, double bytes_per_second) {
  const double nanoseconds = bytes / bytes_per_second * kNanoseconds;
  if (!(nanoseconds < static_cast<double>(kForever.count()))) return kForever;
  return Duration(std::llround(nanoseconds));
}

void check_link(const cluster::HostSpec& host, std::string_view which, const cluster::Link& link) {
  if (!std::isfinite(link.bytes_per_second) || link.bytes_per_second <= 0) {
    throw InvalidArgument(concat("host ", host.name, ": ", link.bytes_per_second, " bytes per second ", which,
                                 " are not a finite number above 0"));
  }
  if (link.latency < Duration(0)) {
    throw InvalidArgument(concat("host ", host.name, ": the latency ", which, " is below 0"));
  }
}

}  // namespace

HostNetwork::HostNetwork(const std::vector<cluster::HostSpec>& hosts, std::vector<int> host_of_rank)
    : host_of_rank_(std::move(host_of_rank)) {
  for (std::size_t rank = 0; rank < host_of_rank_.size(); ++rank) {
    if (host_of_rank_[rank] >= 0 && static_cast<std::size_t>(host_of_rank_[rank]) < hosts.size()) continue;
    throw InvalidArgument(
        concat("rank ", rank, " is on host ", host_of_rank_[rank], "; there are ", hosts.size(), " hosts"));
  }
  hosts_.reserve(hosts.size());
  for (const cluster::HostSpec& spec : hosts) {
    check_link(spec, "outside", spec.outside);
    check_link(spec, "inside", spec.inside);
    Host& host = hosts_.emplace_back();
    host.outside = spec.outside;
    host.inside = spec.inside;
    host.outgoing.bytes_per_second = host.incoming.bytes_per_second = spec.outside.bytes_per_second;
    host.inner.bytes_per_second = spec.inside.bytes_per_second;
  }
  changed_.reserve(3 * hosts_.size());  // cancel must not fail
}

void HostNetwork::start(Scheduler& scheduler, Transfer& transfer) {
  scheduler_ = &scheduler;
  transfer.note = 0;
  Host& from = host_of(transfer.from);
  Host& to = host_of(transfer.to);
  const bool inside = &from == &to;
  const Duration latency = inside ? from.inside.latency : std::max(from.outside.latency, to.outside.latency);
  if (transfer.bytes <= kNote) {
    const Time left = inside
                          ? pass(from.inner, transfer.bytes)
                          : std::max(pass(from.outgoing, transfer.bytes), pass(to.incoming, transfer.bytes));
    return scheduler.at(left + latency, transfer);
  }

  Flow& flow =
      inside ? add_flow(transfer, from.inner, nullptr) : add_flow(transfer, from.outgoing, &to.incoming);
  flow.latency = latency;
  if (flow.alone()) return set_rate(flow, flow.rate());
  for (Side* side : flow.sides) {
    if (side != nullptr) note_change(*side);
  }
}

// When a packet that arrives now has passed the side.
Time HostNetwork::pass(Side& side, std::size_t bytes) {
  const double seconds = static_cast<double>(bytes) / side.bytes_per_second;
  side.notes_until = std::max(scheduler_->now(), side.notes_until) +
                     std::chrono::ceil<Duration>(std::chrono::duration<double>(seconds));
  return side.notes_until;
}

void HostNetwork::cancel(Transfer& transfer) noexcept {
  transfer.cancel();
  if (transfer.note == 0) return;
  Flow& flow = flows_[transfer.note - 1];
  // Otherwise it has left, and its entry was given to another.
  if (flow.transfer == &transfer) remove(flow);
}

void HostNetwork::set_outside(Scheduler& scheduler, int host, double factor) {
  if (host < 0 || static_cast<std::size_t>(host) >= hosts_.size()) {
    throw InvalidArgument(concat("host ", host, " does not exist; there are ", hosts_.size(), " hosts"));
  }
  if (!std::isfinite(factor) || factor <= 0) {
    throw InvalidArgument(
        concat("host ", host, ": bandwidth divided by ", factor, ", which is not a finite number above 0"));
  }
  scheduler_ = &scheduler;
  Host& changed = hosts_[static_cast<std::size_t>(host)];
  for (Side* side : {&changed.outgoing, &changed.incoming}) {
    side->bytes_per_second = changed.outside.bytes_per_second / factor;
    note_change(*side);
  }
}

HostNetwork::Host& HostNetwork::host_of(Rank rank) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= host_of_rank_.size()) {
    throw InvalidArgument(concat("rank ", rank, " is on no host; there are ranks 0 to ",
                                 static_cast<int>(host_of_rank_.size()) - 1));
  }
  return hosts_[static_cast<std::size_t>(host_of_rank_[static_cast<std::size_t>(rank)])];
}

double HostNetwork::Flow::rate() const {
  return sides[1] == nullptr ? sides[0]->share() : std::min(sides[0]->share(), sides[1]->share());
}

bool HostNetwork::Flow::alone() const {
  return sides[0]->flows.size() == 1 && (sides[1] == nullptr || sides[1]->flows.size() == 1);
}

void HostNetwork::Flow::Drained::run(Wakeup& self) {
  Flow& flow = static_cast<Drained&>(self).flow;
  flow.network.remove(flow);
}

HostNetwork::Flow& HostNetwork::add_flow(Transfer& transfer, Side& first, Side* second) {
  clear_drained(first);
  if (second != nullptr) clear_drained(*second);
  if (free_ == nullptr) {
    free_ = &flows_.emplace_back(*this, static_cast<std::uint32_t>(flows_.size() + 1));
  }
  Flow& flow = *free_;
  free_ = flow.next_free;
  transfer.note = flow.note;
  flow.transfer = &transfer;
  flow.left = static_cast<double>(transfer.bytes);
  flow.bytes_per_second = 0;
  flow.since = scheduler_->now();
  flow.end = Time(kForever);
  flow.sides = {&first, second};
  for (std::size_t i = 0; i < 2 && flow.sides[i] != nullptr; ++i) {
    flow.place[i] = static_cast<std::uint32_t>(flow.sides[i]->flows.size());
    flow.sides[i]->flows.push_back(&flow);
  }
  return flow;
}

void HostNetwork::remove(Flow& flow) noexcept {
  flow.drained.cancel();
  for (std::size_t i = 0; i < 2 && flow.sides[i] != nullptr; ++i) {
    Side& side = *flow.sides[i];
    Flow& last = *side.flows.back();
    side.flows[flow.place[i]] = &last;
    last.place[last.sides[0] == &side ? 0 : 1] = flow.place[i];
    side.flows.pop_back();
    note_change(side);
  }
  flow.transfer = nullptr;
  flow.next_free = std::exchange(free_, &flow);
}

// Removes a lone flow that has left. Where there are several, each is removed at its own end.
void HostNetwork::clear_drained(Side& side) {
  if (side.flows.size() == 1 && side.flows.front()->end <= scheduler_->now()) remove(*side.flows.front());
}

void HostNetwork::set_rate(Flow& flow, double bytes_per_second) {
  const Time now = scheduler_->now();
  const double seconds = seconds_of(now - flow.since);
  flow.left = std::max(0.0, flow.left - seconds * flow.bytes_per_second);
  flow.since = now;
  flow.bytes_per_second = bytes_per_second;
  flow.end = now + time_for(flow.left, bytes_per_second);
  scheduler_->at(flow.end + flow.latency, *flow.transfer);
  if (flow.drained.queued()) scheduler_->at(flow.end, flow.drained);
}

void HostNetwork::note_change(Side& side) {
  if (side.flows.empty() || side.changed) return;
  side.changed = true;
  changed_.push_back(&side);
  if (!settle_.queued()) scheduler_->at_end(settle_);
}

void HostNetwork::settle() {
  ++round_;
  for (Side* side : changed_) {
    side->changed = false;
    for (Flow* flow : side->flows) settle(*flow);
  }
  changed_.clear();
}

void HostNetwork::settle(Flow& flow) {
  if (flow.settled == round_) return;  // through its other side
  flow.settled = round_;
  const bool left = flow.end <= scheduler_->now();
  if (const double rate = flow.rate(); !left && rate != flow.bytes_per_second) set_rate(flow, rate);
  if (!flow.alone() && !flow.drained.queued()) scheduler_->at(flow.end, flow.drained);
}

}  // namespace starling::sim
