#include "starling/strategy/centre/centre.h"

namespace starling::strategy {

Task<> Centre::pull_both(Data model, float alpha, Data difference) {
  co_await pull(model, alpha, difference);
  take_away(difference, model);
}

void take_away(Data difference, Data model) {
  if (model.ghost()) return;
  const std::span<float> x = floats(model);
  const std::span<const float> d = floats(difference);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= d[i];
}

}  // namespace starling::strategy
