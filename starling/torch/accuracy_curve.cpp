#include "starling/torch/accuracy_curve.h"

#include <algorithm>
#include <cmath>

#include "starling/session/background/snapshot_average.h"

namespace starling::torch {

using session::Snapshot;

namespace {

// Enough for a curve; the last model is evaluated on all samples.
constexpr std::size_t kCurveSamples = 2000;

}  // namespace

AccuracyCurve::AccuracyCurve(const TrainOptions& setting, std::function<void()> reached)
    : setting_(setting),
      interval_(setting.eval_every.value_or(kSnapshotEvery)),
      reached_(std::move(reached)) {
  if (setting.evaluate == EvalTime::kNow) judge_ = std::thread([this] { judge_as_they_come(); });
}

AccuracyCurve::~AccuracyCurve() { end_judging(); }

void AccuracyCurve::end_judging() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  added_.notify_all();
  if (judge_.joinable()) judge_.join();
}

Evaluator& AccuracyCurve::evaluator() {
  if (!evaluator_) evaluator_.emplace(setting_.model, *setting_.data);
  return *evaluator_;
}

void AccuracyCurve::keep(Snapshot snapshot) {
  const std::lock_guard lock(mutex_);
  insert({.snapshot = std::move(snapshot), .score = {}, .kept = true});
}

void AccuracyCurve::insert(Entry entry) {
  entries_.push_back(std::move(entry));
  thin();
}

void AccuracyCurve::add(Snapshot snapshot) {
  const std::lock_guard lock(mutex_);
  insert({.snapshot = std::move(snapshot), .score = {}});
  if (!told_ && setting_.target_loss && entries_.back().snapshot.loss <= *setting_.target_loss) {
    told_ = true;
    reached_();
  }
  added_.notify_all();
}

// In a long run the workers send fewer; models that they would not have sent at the later interval are
// dropped.
void AccuracyCurve::thin() {
  const auto number = [this](const Entry& entry) {
    return static_cast<std::uint64_t>(entry.snapshot.time / interval_);
  };
  const std::uint64_t stride = session::snapshot_stride(number(entries_.back()));
  std::erase_if(entries_, [&](const Entry& entry) {
    return !entry.snapshot.final && !entry.score && number(entry) % stride != 0;
  });
}

// The newest that has not been judged; older ones wait for the end.
void AccuracyCurve::judge_as_they_come() {
  ::torch::set_num_threads(1);
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (entries_.empty() || entries_.back().score || entries_.back().kept) {
      added_.wait(lock);
      continue;
    }
    Entry entry = entries_.back();
    lock.unlock();
    judge(entry);
    lock.lock();
    const bool first = !told_ && reaches(entry);
    for (Entry& kept : entries_) {
      if (kept.snapshot.time == entry.snapshot.time) kept.score = entry.score;
    }
    if (!first) continue;
    told_ = true;
    reached_();
  }
}

void AccuracyCurve::judge(Entry& entry) {
  evaluator().load(entry.snapshot.model);
  entry.score = entry.snapshot.final ? evaluator().score() : evaluator().score(kCurveSamples);
}

bool AccuracyCurve::reaches(const Entry& entry) const {
  if (setting_.target_loss) return entry.snapshot.loss <= *setting_.target_loss;
  return setting_.target_accuracy && entry.score && entry.score->accuracy >= *setting_.target_accuracy;
}

// Keeps what has been judged, the last, and of the others as many as wanted, evenly.
void AccuracyCurve::choose() {
  const auto wanted = static_cast<std::size_t>(std::max(1, setting_.eval_points));
  if (entries_.size() <= wanted) return;
  std::vector<Entry> chosen;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool even = (i + 1) * wanted / entries_.size() != i * wanted / entries_.size();
    if (even || entries_[i].score) chosen.push_back(std::move(entries_[i]));
  }
  entries_ = std::move(chosen);
}

AccuracyCurve::Result AccuracyCurve::finish(bool all) {
  end_judging();
  Result result;
  for (const Entry& entry : entries_) {
    if (std::isfinite(entry.snapshot.loss)) result.train_loss = entry.snapshot.loss;
  }
  if (all) choose();
  for (Entry& entry : entries_) {
    const bool last = &entry == &entries_.back();
    if (!entry.score && (all || last)) judge(entry);
    if (!result.time_to_target && reaches(entry)) result.time_to_target = entry.snapshot.time;
    if (!entry.score) continue;
    result.points.push_back(
        {Time(entry.snapshot.time), entry.snapshot.steps, entry.score->loss, entry.score->accuracy});
  }
  if (entries_.empty()) return result;
  result.test_accuracy = entries_.back().score->accuracy;
  evaluator().load(entries_.back().snapshot.model);
  result.model = evaluator().state();
  return result;
}

}  // namespace starling::torch
