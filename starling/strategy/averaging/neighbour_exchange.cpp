#include "starling/strategy/averaging/neighbour_exchange.h"

#include <algorithm>
#include <array>

#include "starling/core/error.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

NeighbourExchange::NeighbourExchange(Worker& self, const AgreedGraph& graphs, MixingRule& rule)
    : self_(self), graphs_(graphs), rule_(rule) {}

void NeighbourExchange::begins() {
  links_ = rule_.links(graphs_.of(self_.step()), self_.rank(), self_.step());
  while (models_.size() < links_.size()) models_.push_back(self_.allocate(self_.parameters().count));
  const Tag tag = tag_of(Channel::kModel, self_.step());
  for (std::size_t i = 0; i < links_.size(); ++i) {
    received_.emplace_back(self_.net(), links_[i].rank, tag, models_[i].data.span());
    sent_.emplace_back(self_.net(), links_[i].rank, tag, self_.parameters().span());
  }
}

Task<> NeighbourExchange::finish() {
  heard_.assign(links_.size(), false);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Stopwatch watch(self_, record::Activity::kWait, links_[i].rank);
    try {
      co_await received_[i];
      heard_[i] = true;
      co_await sent_[i];
    } catch (const PeerLost&) {
    }
  }
  received_.clear();
  sent_.clear();
}

void NeighbourExchange::mix() const {
  if (self_.parameters().ghost()) return;
  if (std::ranges::find(heard_, true) == heard_.end()) return;
  const std::span<float> x = floats(self_.parameters());
  std::array<float, 1024> change{};  // of a part of the model at a time
  for (std::size_t first = 0; first < x.size(); first += change.size()) {
    const std::size_t count = std::min(change.size(), x.size() - first);
    std::ranges::fill(change, 0.0F);
    for (std::size_t n = 0; n < links_.size(); ++n) {
      if (!heard_[n]) continue;
      const std::span<const float> other = floats(models_[n].data).subspan(first, count);
      const auto weight = static_cast<float>(links_[n].weight);
      for (std::size_t i = 0; i < count; ++i) change[i] += weight * (other[i] - x[first + i]);
    }
    for (std::size_t i = 0; i < count; ++i) x[first + i] += change[i];
  }
}

}  // namespace starling::strategy
