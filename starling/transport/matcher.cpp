#include "starling/transport/matcher.h"

#include <cstring>

#include "starling/core/error.h"

namespace starling::transport {

namespace {

bool fits(const Inbound& receiving, Rank from, Tag tag) {
  return receiving.tag() == tag && (receiving.peer() == from || receiving.peer() == kAnyRank);
}

// memcpy may not be called with null, which an empty span may hold. Bytes that are received as a ghost are
// dropped.
void copy(std::span<std::byte> target, std::span<const std::byte> source) {
  if (target.data() != nullptr && source.data() != nullptr && !source.empty())
    std::memcpy(target.data(), source.data(), source.size());
}

}  // namespace

bool KeptArrival::read(std::span<std::byte> target) {
  copy(target, data_);
  return true;
}

Matcher::~Matcher() {
  for (auto& bucket : buckets_) {
    while (!bucket.arrived.empty()) delete &bucket.arrived.pop_front();
  }
}

Inbound* Matcher::find(Rank from, Tag tag) {
  return static_cast<Inbound*>(bucket(tag).posted.find(
      [&](Operation& posted) { return fits(static_cast<Inbound&>(posted), from, tag); }));
}

void Matcher::deliver(std::unique_ptr<Arrival> arrival, Turn turn) {
  if (Inbound* receiving = find(arrival->from(), arrival->tag())) {
    arrival->give(*receiving);
    return;
  }
  Bucket& home = bucket(arrival->tag());
  Arrival& kept = *arrival.release();
  if (turn == Turn::kFirst) {
    home.arrived.push_front(kept);
  } else {
    home.arrived.push_back(kept);
  }
}

bool Matcher::post(Inbound& receiving) {
  Bucket& home = bucket(receiving.tag());
  while (Arrival* found = home.arrived.find(
             [&](Arrival& arrival) { return fits(receiving, arrival.from(), arrival.tag()); })) {
    const std::unique_ptr<Arrival> arrival(found);
    arrival->unlink();
    if (arrival->give(receiving)) return true;
  }
  home.posted.push_back(receiving);
  return false;
}

bool Arrival::give(Inbound& receiving) {
  try {
    if (!read(receiving.room(from(), bytes(), ghost()))) return false;
    receiving.complete();
  } catch (const Error&) {
    discard();
    receiving.fail(std::current_exception());
  }
  return true;
}

void hand_over(Rank from, std::span<const std::byte> data, Inbound& receiving) {
  try {
    copy(receiving.room(from, data.size(), is_ghost(data)), data);
    receiving.complete();
  } catch (const Error&) {
    receiving.fail(std::current_exception());
  }
}

}  // namespace starling::transport
