#include "starling/strategy/fusion.h"

#include <utility>

#include "starling/strategy/exchange.h"

namespace starling::strategy {

Fusion::Fusion(Worker& self, const FusionSetting& setting)
    : self_(self), setting_(setting), outbox_(self.net()) {
  if (!setting.tuned || !leads()) return;
  tuning::TunerSetting tuned;
  tuned.start = setting.bytes;
  tuner_.emplace(tuned);
}

void Fusion::step_begins() {
  if (!tuner_) return;
  const Time now = self_.now();
  const std::optional<Time> before = std::exchange(began_, now);
  if (!before) return;
  if (now > *before) tuner_->note(seconds_of(now - *before));
  note();
  tell_others(self_, outbox_, self_.everyone(), tag_of(Channel::kFusion), tuner_->threshold());
}

void Fusion::note() {
  record::Fusion& noted = self_.journal().fusion;
  noted.bytes = tuner_->threshold();
  noted.settled = tuner_->settled();
  const std::vector<tuning::Trial>& trials = tuner_->trials();
  for (std::size_t i = noted.trials.size(); i < trials.size(); ++i) {
    noted.trials.push_back({trials[i].threshold, trials[i].seconds});
  }
}

Task<std::uint64_t> Fusion::agreed() {
  if (!setting_.tuned || std::exchange(first_, false)) co_return setting_.bytes;
  if (tuner_) co_return tuner_->threshold();
  std::uint64_t bytes = 0;
  co_await self_.net().recv(0, tag_of(Channel::kFusion), bytes_of(bytes));
  co_return bytes;
}

}  // namespace starling::strategy
