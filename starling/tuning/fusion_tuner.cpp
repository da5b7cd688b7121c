#include "starling/tuning/fusion_tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>

#include "starling/core/elementary.h"
#include "starling/core/error.h"

namespace starling::tuning {
namespace {

constexpr int kStepsPerOctave = 8;     // of the grid of candidates
constexpr double kNearest = 0.2;       // octaves: a candidate nearer to a trial would tell nothing new
constexpr std::size_t kSpread = 3;     // trials in the widest gaps
constexpr std::size_t kEnough = 6;     // trials before a search may end early
constexpr double kNegligible = 0.002;  // of the step time: not worth a trial

void check_count(std::string_view what, int value, int lowest, int highest) {
  if (value >= lowest && value <= highest) return;
  throw InvalidArgument(
      concat("fusion tuner: ", what, " is ", value, "; allowed: ", lowest, " to ", highest));
}

const TunerSetting& checked(const TunerSetting& setting) {
  if (setting.lowest == 0 || setting.lowest > setting.start || setting.start > setting.highest) {
    throw InvalidArgument(concat("fusion tuner: lowest ", setting.lowest, ", start ", setting.start,
                                 ", highest ", setting.highest,
                                 " bytes; allowed: 1 <= lowest <= start <= highest"));
  }
  constexpr int kMostSteps = 1'000'000;
  check_count("trials", setting.trials, 1, 64);
  check_count("dropped", setting.dropped, 0, kMostSteps);
  check_count("window", setting.window, 1, kMostSteps);
  check_count("patience", setting.patience, 1, kMostSteps);
  if (!(setting.drift > 0) || !std::isfinite(setting.drift)) {
    throw InvalidArgument(concat("fusion tuner: drift is ", setting.drift, "; allowed: above 0 and finite"));
  }
  return setting;
}

// Both ends and the steps between.
std::vector<std::size_t> grid(std::size_t lowest, std::size_t highest) {
  std::vector<std::size_t> points;
  for (int i = 0;; ++i) {
    const double factor = natural_exp(i * std::numbers::ln2 / kStepsPerOctave);
    const double bytes = std::round(static_cast<double>(lowest) * factor);
    if (bytes >= static_cast<double>(highest)) break;
    points.push_back(static_cast<std::size_t>(bytes));
  }
  points.push_back(highest);
  return points;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// In octaves.
double distance_to_nearest(std::span<const double> octaves, double octave) {
  double distance = std::numeric_limits<double>::infinity();
  for (const double other : octaves) distance = std::min(distance, std::fabs(other - octave));
  return distance;
}

}  // namespace

FusionTuner::FusionTuner(const TunerSetting& setting)
    : setting_(checked(setting)),
      candidates_(grid(setting.lowest, setting.highest)),
      threshold_(setting.start),
      to_drop_(setting.dropped) {}

bool FusionTuner::note(double seconds) {
  if (!(seconds > 0) || !std::isfinite(seconds)) {
    throw InvalidArgument(
        concat("fusion tuner: a step of ", seconds, " seconds; allowed: above 0 and finite"));
  }
  if (to_drop_ > 0) {
    --to_drop_;
    return false;
  }
  recent_.push_back(seconds);
  if (settled_) {
    watch();
    return false;
  }
  if (recent_.size() < static_cast<std::size_t>(setting_.window)) return false;
  trials_.push_back({threshold_, median_of(recent_)});
  const auto following = next();
  return following ? change_to(*following) : settle();
}

std::optional<std::size_t> FusionTuner::next() const {
  const std::size_t made = search().size();
  if (made >= static_cast<std::size_t>(setting_.trials)) return std::nullopt;
  return made <= kSpread ? widest_gap() : most_promising();
}

// The candidate that is farthest from all trials. The distance to an end of the range counts twice: half of
// that gap is outside the range and of no interest, and the ends are often the slowest.
std::optional<std::size_t> FusionTuner::widest_gap() const {
  const std::vector<double> octaves = octaves_of(search());
  const double lowest = octave_of(setting_.lowest);
  const double highest = octave_of(setting_.highest);
  std::optional<std::size_t> farthest;
  double widest = kNearest;
  for (const std::size_t candidate : candidates_) {
    const double octave = octave_of(candidate);
    const double inside = std::min(octave - lowest, highest - octave);
    const double gap = std::min(2 * inside, distance_to_nearest(octaves, octave));
    if (gap <= widest) continue;
    widest = gap;
    farthest = candidate;
  }
  return farthest ? farthest : most_promising();
}

std::optional<std::size_t> FusionTuner::most_promising() const {
  const ThresholdModel model(search());
  const std::vector<double> octaves = octaves_of(search());
  std::optional<std::size_t> best;
  double most = search().size() < kEnough ? -1 : kNegligible;
  for (const std::size_t candidate : candidates_) {
    if (distance_to_nearest(octaves, octave_of(candidate)) < kNearest) continue;
    const double gain = model.gain_at(candidate);
    if (gain <= most) continue;
    most = gain;
    best = candidate;
  }
  return best;
}

bool FusionTuner::change_to(std::size_t threshold) {
  recent_.clear();
  if (threshold == threshold_) return false;
  threshold_ = threshold;
  to_drop_ = setting_.dropped;
  return true;
}

bool FusionTuner::settle() {
  const auto faster = [](const Trial& a, const Trial& b) { return a.seconds < b.seconds; };
  const auto made = search();
  settled_ = true;
  settled_seconds_.reset();
  drifting_ = 0;
  return change_to(std::min_element(made.begin(), made.end(), faster)->threshold);
}

void FusionTuner::watch() {
  const auto enough = static_cast<std::size_t>(std::max(setting_.window, setting_.patience));
  if (!settled_seconds_) {
    if (recent_.size() < enough) return;
    settled_seconds_ = median_of(recent_);
  }
  recent_.erase(recent_.begin(), recent_.end() - setting_.window);
  const double difference = std::fabs(median_of(recent_) - *settled_seconds_);
  drifting_ = difference > setting_.drift * *settled_seconds_ ? drifting_ + 1 : 0;
  if (drifting_ >= setting_.patience) restart();
}

void FusionTuner::restart() {
  ++restarts_;
  settled_ = false;
  if (trials_.size() > kMostTrials)
    trials_.erase(trials_.begin(), trials_.begin() + static_cast<std::ptrdiff_t>(search_begin_));
  search_begin_ = trials_.size();
  recent_.clear();
}

}  // namespace starling::tuning
