#include "starling/strategy/centre/centre_service.h"

#include <utility>

#include "starling/core/error.h"
#include "starling/core/shared_update.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

Rank SliceMap::owner(std::size_t index) const {
  if (place_ == CentrePlace::kServer) return self_.server();
  auto rank = static_cast<Rank>(index);
  while (self_.lost(rank)) rank = (rank + 1) % self_.workers();
  return rank;
}

CentreService::CentreService(Member& self, const SliceMap& map, CentreOrder order, Data own_model)
    : self_(self),
      map_(map),
      order_(order),
      own_model_(own_model),
      left_(static_cast<std::size_t>(self.workers())) {
  const Buffer initial = self.initial_model();
  for (std::size_t index = 0; index < map_.count(); ++index) {
    if (map_.owner(index) != self.rank()) continue;
    Served& served = begin(index, initial.data);
    const bool from_the_start = map_.count() == 1 || index == static_cast<std::size_t>(self.rank());
    if (from_the_start) keep(served, index, initial.data);
  }
}

CentreService::Served& CentreService::begin(std::size_t index, Data model) {
  const Slice place = map_.slice(index);
  Served& served = served_[index];
  served.memory = self_.allocate(map_.slice(0).size());  // that of the largest slice
  served.centre = served.memory.data.part(0, place.size());
  served.seen.resize(left_.size());
  copy(model.part(place.begin, place.end), served.centre);
  return served;
}

// A worker that had been lost when a checkpoint was written gets the state of another, with the number of
// another slice. Its own begins with the model.
void CentreService::keep(Served& served, std::size_t index, Data initial) {
  if (served.centre.ghost()) return;
  first_ = index;
  self_.keep("number of the centre's slice", bytes_of(first_));
  self_.keep("slice of the centre", served.memory.data.span());
  if (first_ == index) return;
  first_ = index;
  copy(initial.part(map_.slice(index).begin, map_.slice(index).end), served.centre);
}

Task<> CentreService::serve(std::shared_ptr<CentreService> service) {
  runtime::Scope scope(co_await runtime::this_context());
  for (;;) {
    service->attend_own(scope);
    service->pulse_turns();
    co_await service->self_.net().losses();
  }
}

void CentreService::attend_own(runtime::Scope& scope) {
  for (std::size_t index = 0; index < map_.count(); ++index) {
    if (map_.owner(index) == self_.rank() && !std::exchange(served_slice(index).attended, true))
      attend_all(index, scope);
  }
}

// The worker on this rank may need the slice of a lost one before anybody else.
CentreService::Served& CentreService::served_slice(std::size_t index) {
  const auto found = served_.find(index);
  return found != served_.end() ? found->second : begin(index, own_model_);
}

void CentreService::attend_all(std::size_t index, runtime::Scope& scope) {
  for (Rank worker = 0; worker < self_.workers(); ++worker) {
    const bool trains_here = worker == self_.rank() && own_model_.count > 0;
    if (!trains_here) scope.spawn(attend(index, worker), concat("centre for worker ", worker));
  }
}

Task<> CentreService::attend(std::size_t index, Rank worker) {
  try {
    co_await answer(index, worker);
  } catch (const PeerLost&) {
    co_return;
  }
  leave(worker);
}

Task<> CentreService::answer(std::size_t index, Rank worker) {
  const std::uint64_t conversation = map_.conversation(index, worker);
  const Buffer model = self_.allocate(map_.slice(index).size());
  const Buffer difference = self_.allocate(map_.slice(index).size());
  PullTerms terms;
  for (;;) {
    co_await self_.net().recv(worker, tag_of(Channel::kTerms, conversation), bytes_of(terms),
                              transport::Idle::kYes);
    if (terms.leaves != 0) co_return;
    co_await self_.net().recv(worker, tag_of(Channel::kPush, conversation), model.data.span());
    co_await exchange(index, worker, model.data, static_cast<float>(terms.alpha), difference.data);
    co_await self_.net().send(worker, tag_of(Channel::kPull, conversation), difference.data.span());
  }
}

Task<> CentreService::exchange(std::size_t index, Rank worker, Data model, float alpha, Data difference) {
  Served& served = served_slice(index);
  if (order_ == CentreOrder::kRoundRobin) co_await await_turn(served, worker);
  const Stopwatch watch(self_, record::Activity::kServe, worker);
  if (!model.ghost()) elastic_difference(floats(served.centre), floats(model), alpha, floats(difference));
  std::uint64_t& seen = served.seen[static_cast<std::size_t>(worker)];
  if (seen > 0) self_.journal().staleness.note(served.exchanges - seen);
  seen = ++served.exchanges;
  served.turn = (worker + 1) % self_.workers();
  served.turned.pulse();
}

// The worker that is named, or the next one behind it that takes part. `worker` does.
Rank CentreService::whose_turn(const Served& served, Rank worker) const {
  Rank next = served.turn;
  while (next != worker && (left_[static_cast<std::size_t>(next)] || self_.lost(next))) {
    next = (next + 1) % self_.workers();
  }
  return next;
}

Task<> CentreService::await_turn(Served& served, Rank worker) {
  for (;;) {
    const Rank other = whose_turn(served, worker);
    if (other == worker) co_return;
    const Time since = self_.now();
    co_await served.turned;
    note_hold(self_, worker, other, since);
  }
}

void CentreService::leave(Rank worker) {
  left_[static_cast<std::size_t>(worker)] = true;
  pulse_turns();
}

void CentreService::pulse_turns() {
  for (auto& [index, served] : served_) served.turned.pulse();
}

}  // namespace starling::strategy
