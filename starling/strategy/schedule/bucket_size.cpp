#include "starling/strategy/schedule/bucket_size.h"

#include <utility>

#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

BucketSize::BucketSize(Worker& self, const BucketSizeOptions& setting)
    : self_(self), setting_(setting), sender_(self.net()) {
  if (!setting.tuned || !leads()) return;
  tuning::TunerSetting tuned;
  tuned.start = setting.bytes;
  tuner_.emplace(tuned);
}

void BucketSize::step_begins() {
  if (!tuner_) return;
  const Time now = self_.now();
  const std::optional<Time> before = std::exchange(began_, now);
  if (before && now > *before) tuner_->note(seconds_of(now - *before));
  told_.push_back(tuner_->threshold());
  if (!before) return;
  note();
  tell_others(self_, sender_, self_.everyone(), tag_of(Channel::kFusion), told_.back());
}

void BucketSize::note() {
  record::Fusion& noted = self_.journal().fusion;
  noted.bytes = tuner_->threshold();
  noted.settled = tuner_->settled();
  const std::vector<tuning::Trial>& trials = tuner_->trials();
  for (std::size_t i = noted.trials.size(); i < trials.size(); ++i) {
    noted.trials.push_back({trials[i].threshold, trials[i].seconds});
  }
}

Task<std::uint64_t> BucketSize::agreed() {
  const bool first = std::exchange(first_, false);
  if (tuner_) {
    const std::uint64_t bytes = told_.front();
    told_.pop_front();
    co_return bytes;
  }
  if (!setting_.tuned || first) co_return setting_.bytes;
  std::uint64_t bytes = 0;
  co_await self_.net().recv(0, tag_of(Channel::kFusion), bytes_of(bytes));
  co_return bytes;
}

}  // namespace starling::strategy
