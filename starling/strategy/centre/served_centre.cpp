#include "starling/strategy/centre/served_centre.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

ServedCentre::ServedCentre(Worker& self, CentrePlace place, CentreOrder order,
                           const std::optional<Time>& computed)
    : self_(self), map_(self, self.parameters().count, place), computed_(computed) {
  if (place == CentrePlace::kServer) return;
  service_ = std::make_shared<CentreService>(self, map_, order, self.parameters());
  self.beside(CentreService::serve(service_), "slices of the centre");
}

// Noted as a wait for the rank that answers last.
Task<> ServedCentre::pull(Data model, float alpha, Data difference) {
  runtime::Scope scope(co_await runtime::this_context());
  Stopwatch watch(self_, record::Activity::kWait);
  watch.in_background_until(computed_);
  for (std::size_t index = 0; index < map_.count(); ++index) {
    const Slice place = map_.slice(index);
    scope.spawn(
        pull_slice(index, model.part(place.begin, place.end), alpha, difference.part(place.begin, place.end)),
        concat("slice ", index, " of the centre"));
  }
  co_await scope.join();
  watch.waited_for(last_to_answer_);
}

Task<> ServedCentre::pull_slice(std::size_t index, Data model, float alpha, Data difference) {
  const Rank owner = map_.owner(index);
  last_to_answer_ = owner;
  if (service_ && owner == self_.rank())
    co_return co_await service_->exchange(index, owner, model, alpha, difference);
  const std::uint64_t conversation = map_.conversation(index, self_.rank());
  PullTerms terms{.alpha = alpha};
  bool interrupted = false;
  try {
    auto announced = self_.net().send(owner, tag_of(Channel::kTerms, conversation), bytes_of(terms));
    auto sent = self_.net().send(owner, tag_of(Channel::kPush, conversation), model.span());
    co_await self_.net().recv(owner, tag_of(Channel::kPull, conversation), difference.span());
    co_await announced;
    co_await sent;
  } catch (const PeerLost&) {
    if (!service_) throw;
    interrupted = true;
  }
  if (interrupted && !difference.ghost()) std::ranges::fill(floats(difference), 0.0F);
  last_to_answer_ = owner;
}

Task<> ServedCentre::leave() {
  runtime::Scope scope(co_await runtime::this_context());
  for (std::size_t index = 0; index < map_.count(); ++index) {
    scope.spawn(leave_owner(index), "leaving the centre");
  }
  co_await scope.join();
}

Task<> ServedCentre::leave_owner(std::size_t index) {
  const Rank owner = map_.owner(index);
  if (service_ && owner == self_.rank()) {
    service_->leave(owner);
    co_return;
  }
  PullTerms terms{.leaves = 1};
  const Tag tag = tag_of(Channel::kTerms, map_.conversation(index, self_.rank()));
  try {
    co_await self_.net().send(owner, tag, bytes_of(terms));
  } catch (const PeerLost&) {
  }
}

}  // namespace starling::strategy
