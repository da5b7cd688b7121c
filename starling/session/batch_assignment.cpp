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

void ShareReport::note(std::uint64_t asked_epoch, std::uint64_t epoch_batches, const Share& share) {
  if (asked_epoch != epoch || batches == 0) {
    rounds_before = asked_epoch == epoch + 1 ? rounds : 0;
    epoch = asked_epoch;
    rounds = 0;
    given.clear();
  }
  batches = epoch_batches;
  if (share.kind != Share::Kind::kEnd) ++rounds;
  if (share.kind == Share::Kind::kBatch) given.push_back(share.batch);
}

BatchAssignment::BatchAssignment(int workers, bool lockstep, const std::map<Rank, ShareReport>& reports)
    : BatchAssignment(workers, lockstep) {
  for (const auto& [rank, report] : reports) first_open_ = std::max(first_open_, report.epoch);
  std::map<std::uint64_t, std::vector<bool>> given;
  for (const auto& [rank, report] : reports) {
    if (report.batches == 0) continue;
    workers_.at(static_cast<std::size_t>(rank)) = {report.epoch, report.rounds};
    Epoch& now = find_epoch(report.epoch, report.batches);
    now.rounds = std::max(now.rounds, report.rounds);
    if (report.epoch > 0 && report.rounds_before > 0) {
      Epoch& before = find_epoch(report.epoch - 1, report.batches);
      before.rounds = std::max(before.rounds, report.rounds_before);
    }
    std::vector<bool>& taken = given[report.epoch];
    taken.resize(now.batches);
    for (const std::uint64_t batch : report.given) {
      if (batch < taken.size()) taken[batch] = true;
    }
  }
  const auto last = given.find(first_open_);
  if (last == given.end()) return;
  std::vector<std::uint64_t>& left = epochs_.at(first_open_).left.emplace();
  for (std::uint64_t batch = 0; batch < last->second.size(); ++batch) {
    if (!last->second[batch]) left.push_back(batch);
  }
}

BatchAssignment::Epoch& BatchAssignment::find_epoch(std::uint64_t epoch, std::uint64_t batches) {
  const auto [place, made] = epochs_.try_emplace(epoch, Epoch{.batches = batches});
  if (made && epoch < first_open_) place->second.left.emplace();
  return place->second;
}

std::optional<Share> BatchAssignment::next(Rank worker, std::uint64_t epoch, std::uint64_t batches) {
  Asker& asker = workers_.at(static_cast<std::size_t>(worker));
  if (epoch != asker.epoch) {
    asker = {epoch, 0};
    forget_old_epochs();
  }
  Epoch& now = find_epoch(epoch, batches);
  if (now.batches != batches) return {};
  ++asker.round;
  if (now.given < now.count()) {
    now.rounds = std::max(now.rounds, asker.round);
    return Share{Share::Kind::kBatch, now.number(now.given++)};
  }
  // Nothing is given out any more, so whether this round is the last is settled.
  const bool others_go_on = lockstep_ && asker.round <= now.rounds;
  return Share{others_go_on ? Share::Kind::kEmpty : Share::Kind::kEnd, 0};
}

SharePosition BatchAssignment::position() const {
  if (epochs_.empty()) return {};
  const auto& [number, epoch] = *epochs_.rbegin();
  return {number, epoch.batches - epoch.count() + epoch.given};
}

void BatchAssignment::forget_old_epochs() {
  std::uint64_t oldest = workers_.front().epoch;
  for (const Asker& asker : workers_) oldest = std::min(oldest, asker.epoch);
  epochs_.erase(epochs_.begin(), epochs_.lower_bound(oldest));
}

}  // namespace starling::session
