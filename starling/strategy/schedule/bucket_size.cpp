#include "starling/strategy/schedule/bucket_size.h"

#include <utility>

#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

BucketSize::BucketSize(Worker& self, AgreedExchange& agreed, const BucketSizeOptions& setting)
    : self_(self), agreed_(agreed), setting_(setting), sender_(self.net()), last_(setting.bytes) {
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
  if (agreed_.has_views()) return;
  tell_others(self_, sender_, self_.everyone(), tag_of(Channel::kFusion), told_.back());
}

void BucketSize::note() {
  record::Fusion& noted = self_.journal().fusion;
  noted.bytes = tuner_->threshold();
  noted.settled = tuner_->settled();
  const std::vector<tuning::Trial>& trials = tuner_->trials();
  if (trials.size() < noted.trials.size()) noted.trials.clear();  // the tuner has forgotten old ones
  for (std::size_t i = noted.trials.size(); i < trials.size(); ++i) {
    noted.trials.push_back({trials[i].threshold, trials[i].seconds});
  }
}

Task<std::uint64_t> BucketSize::agreed() {
  const bool first = std::exchange(first_, false);
  if (setting_.tuned && !first && agreed_.has_views()) co_return co_await agree_with_members();
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

// The size of rank 0, or, once that is lost, the last one.
Task<std::uint64_t> BucketSize::agree_with_members() {
  std::int64_t size = static_cast<std::int64_t>(last_);
  if (tuner_) {
    size = static_cast<std::int64_t>(told_.front());
    told_.pop_front();
  }
  std::int64_t chosen = 0;
  const Data result{std::span<std::int64_t>(&chosen, 1)};
  co_await agreed_.in_order(result, [&](const ExchangeTerms& terms, Tag tag) {
    chosen = self_.rank() == terms.group.ranks().front() ? size : 0;
    return collective::all_reduce(self_.net(), terms.group, result, collective::Reduction::max(), tag);
  });
  last_ = static_cast<std::uint64_t>(chosen);
  co_return last_;
}

}  // namespace starling::strategy
