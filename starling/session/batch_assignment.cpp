#include "starling/session/batch_assignment.h"

#include <algorithm>

#include "starling/core/error.h"

namespace starling::session {

Share equal_share(Rank worker, int workers, std::uint64_t batches, std::uint64_t round) {
  const auto n = static_cast<std::uint64_t>(workers);
  if (batches < n) {
    throw InvalidArgument(concat("an epoch of ", batches, " batches for ", workers,
                                 " workers; allowed: at least one batch for each"));
  }
  if (round >= batches / n) return {Share::Kind::kEnd, 0};
  return {Share::Kind::kBatch, round * n + static_cast<std::uint64_t>(worker)};
}

std::optional<Share> BatchAssignment::next(Rank worker, std::uint64_t epoch, std::uint64_t batches) {
  Asker& asker = workers_.at(static_cast<std::size_t>(worker));
  if (epoch != asker.epoch) {
    asker = {epoch, 0};
    forget_old_epochs();
  }
  Epoch& now = epochs_.try_emplace(epoch, Epoch{batches, 0, 0}).first->second;
  if (now.batches != batches) return {};
  ++asker.round;
  if (now.given < now.batches) {
    now.rounds = std::max(now.rounds, asker.round);
    return Share{Share::Kind::kBatch, now.given++};
  }
  // Nothing is given out any more, so whether this round is the last is settled.
  const bool others_go_on = lockstep_ && asker.round <= now.rounds;
  return Share{others_go_on ? Share::Kind::kEmpty : Share::Kind::kEnd, 0};
}

void BatchAssignment::forget_old_epochs() {
  std::uint64_t oldest = workers_.front().epoch;
  for (const Asker& asker : workers_) oldest = std::min(oldest, asker.epoch);
  epochs_.erase(epochs_.begin(), epochs_.lower_bound(oldest));
}

}  // namespace starling::session
