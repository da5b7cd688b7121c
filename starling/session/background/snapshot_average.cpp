#include "starling/session/background/snapshot_average.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "starling/core/combine.h"
#include "starling/core/error.h"

namespace starling::session {

namespace {

constexpr std::uint64_t kKept = 64;

bool covers(const ModelCopy& copy, std::uint64_t k) { return copy.final || copy.last >= k; }

}  // namespace

std::uint64_t snapshot_stride(std::uint64_t k) {
  std::uint64_t stride = 1;
  while (k / stride >= kKept) stride *= 2;
  return stride;
}

// A multiple beyond which the stride doubles is one of the doubled stride too.
std::uint64_t first_snapshot(std::uint64_t k) {
  const std::uint64_t stride = snapshot_stride(k);
  return (k + stride - 1) / stride * stride;
}

SnapshotAverage::SnapshotAverage(int workers, Duration interval, Show show, Done done)
    : interval_(interval),
      show_(std::move(show)),
      done_(std::move(done)),
      workers_(static_cast<std::size_t>(workers)) {}

void SnapshotAverage::add(Rank rank, const ModelCopy& copy, Bytes bytes, std::size_t offset) {
  Worker& worker = workers_.at(static_cast<std::size_t>(rank));
  if (!copy.final || copy.last >= copy.first) {
    horizon_ = std::max(horizon_.value_or(0), copy.last);
  }
  worker.pieces.push_back({copy, std::move(bytes), offset});
  if (!std::exchange(worker.begun, true) && copy.first > next_) next_ = first_snapshot(copy.first);
  // Another worker's first one may be for later snapshots than this one, and, as clocks differ, than several
  // that follow it. None of them may be held: its worker would come to have as many as it may and send no
  // other, and nothing would ever be shown.
  drop_before(next_);
  close();
}

void SnapshotAverage::lose(Rank rank, std::uint64_t steps) {
  Worker& worker = workers_.at(static_cast<std::size_t>(rank));
  if (worker.lost || worker.ended()) return;
  worker.lost = true;
  worker.steps = std::max(worker.steps, steps);
  worker.pieces.clear();
  close();
}

std::vector<std::uint64_t> SnapshotAverage::steps() const {
  std::vector<std::uint64_t> steps;
  for (const Worker& worker : workers_) steps.push_back(worker.steps);
  return steps;
}

std::optional<Rank> SnapshotAverage::missing() const {
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    if (!workers_[rank].lost && !workers_[rank].ended()) return static_cast<Rank>(rank);
  }
  return {};
}

// If several in a row are made of the same models, only the last is shown: the others would be shown for
// a time before these models existed.
void SnapshotAverage::close() {
  while (horizon_ && next_ <= *horizon_ && all_cover(next_)) {
    const std::uint64_t k = next_, following = first_snapshot(k + 1);
    next_ = following;
    if (following <= *horizon_ && all_cover(following)) continue;
    Snapshot shown = snapshot();
    shown.time = static_cast<std::int64_t>(k) * interval_;
    if (show_ && !shown.model.empty()) show_(std::move(shown));
    drop_before(following);
  }
}

// By the first piece of each.
bool SnapshotAverage::all_cover(std::uint64_t k) const {
  return std::all_of(workers_.begin(), workers_.end(), [&](const Worker& worker) {
    return worker.lost || (!worker.pieces.empty() && covers(worker.pieces.front().about, k));
  });
}

void SnapshotAverage::drop_before(std::uint64_t k) {
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    auto& pieces = workers_[rank].pieces;
    while (!pieces.empty() && !covers(pieces.front().about, k)) {
      pieces.pop_front();
      if (done_) done_(static_cast<Rank>(rank));
    }
  }
}

// The mean in the order of the ranks, so that the same models give the same bits.
Snapshot SnapshotAverage::snapshot() {
  Snapshot result;
  std::vector<const std::byte*> models;
  std::size_t bytes = 0;
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    Worker& worker = workers_[rank];
    if (!worker.pieces.empty()) worker.steps = worker.pieces.front().about.steps;
    result.steps += worker.steps;
    if (worker.pieces.empty()) continue;
    Held& piece = worker.pieces.front();
    if (!piece.counted) losses_.add(piece.about.losses);
    piece.counted = true;
    const std::size_t own = piece.bytes.size() - piece.offset;
    if (!models.empty() && own != bytes) {
      throw Error(concat("the models of two workers have ", bytes, " and ", own, " bytes: rank ", rank,
                         " has other extras"));
    }
    bytes = own;
    models.push_back(piece.bytes.data() + piece.offset);
  }
  result.model.resize(bytes / sizeof(float));
  auto* const out = reinterpret_cast<std::byte*>(result.model.data());
  const Combine mean{.divisor = static_cast<double>(models.size())};
  if (!models.empty()) combine(DType::kFloat32, mean, out, models, result.model.size());
  result.loss = std::exchange(losses_, {}).mean();
  return result;
}

void SnapshotAverage::conclude() {
  Duration time{};
  for (Worker& worker : workers_) {
    if (!worker.ended()) continue;
    while (worker.pieces.size() > 1) worker.pieces.pop_front();
    time = std::max(time, worker.pieces.front().about.time);
  }
  Snapshot last = snapshot();
  last.time = time;
  last.final = true;
  if (show_ && !last.model.empty()) show_(std::move(last));
}

}  // namespace starling::session
