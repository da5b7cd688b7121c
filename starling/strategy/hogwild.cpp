#include "starling/strategy/hogwild.h"

#include "starling/core/shared_update.h"
#include "starling/strategy/centre/shared_model.h"

namespace starling::strategy {

Task<> Hogwild::run(Worker& self) const {
  require_common_memory(self, "strategy hogwild");
  const std::optional<Time> between_steps = self.now();
  SharedModel shared(self, {.locked = false}, between_steps);
  co_await shared.open("shared model");
  const Data own = self.parameters();
  const Buffer before = self.allocate(own.count);
  copy(own, before.data);
  while (co_await self.compute()) {
    if (self.samples() > 0) co_await self.update();
    co_await shared.visit([&](Data model, Slice place) {
      if (model.ghost()) return;
      merge_change(floats(model), floats(own.part(place.begin, place.end)),
                   floats(before.data.part(place.begin, place.end)));
    });
  }
}

StrategyEntry hogwild_row() {
  return {
      .name = "hogwild",
      .summary = "one model in the memory of the host, updated by everybody without locks",
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .staleness = "none",
                   .steps = "each worker makes its own",
                   .waits_for = "nobody",
                   .bytes = "0"},
      .make = make<Hogwild>,
      .bytes_sent = [](const Options&, const Shape&, Rank) { return std::optional<std::uint64_t>(0); },
      .needs_one_host = [](const Options&) { return true; },
      .variants = {{}},
  };
}

}  // namespace starling::strategy
