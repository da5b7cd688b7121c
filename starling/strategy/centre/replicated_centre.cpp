#include "starling/strategy/centre/replicated_centre.h"

namespace starling::strategy {

using collective::Reduction;

ReplicatedCentre::ReplicatedCentre(Worker& self, collective::Choice algorithm,
                                   const std::optional<Time>& computed)
    : self_(self),
      algorithm_(algorithm),
      computed_(computed),
      agreed_(self, algorithm),
      centre_(self.initial_model()),
      sum_(self.allocate(centre_.data.count)) {
  if (!centre_.data.ghost()) self.keep("centre", centre_.data.span());
}

Task<> ReplicatedCentre::pull(Data model, float alpha, Data difference) {
  if (!model.ghost()) {
    const std::span<const float> x = floats(model), c = floats(centre_.data);
    const std::span<float> d = floats(difference);
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = alpha * (x[i] - c[i]);
    copy(difference, sum_.data);
  }
  ++round_;
  co_await agreed_.in_order(sum_.data, [this](const ExchangeTerms& terms, Tag) {
    return all_reduce_beside(self_, computed_, terms.group, sum_.data, Reduction::sum(),
                             tag_in(terms.epoch, Channel::kModel, round_), algorithm_);
  });
  if (model.ghost()) co_return;
  const std::span<float> c = floats(centre_.data);
  const std::span<const float> sum = floats(sum_.data);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] += sum[i];
}

}  // namespace starling::strategy
