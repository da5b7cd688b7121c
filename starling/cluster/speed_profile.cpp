#include "starling/cluster/speed_profile.h"

#include <algorithm>
#include <cmath>

namespace starling::cluster {
namespace {

std::vector<Fault> faults_of(const Cluster& cluster, Rank worker) {
  std::vector<Fault> faults;
  for (const Fault& fault : cluster.faults) {
    if (!is_of_host(fault.kind) && fault.subject == worker) faults.push_back(fault);
  }
  return faults;
}

bool computes_nothing(const Fault& fault) {
  return fault.kind == Fault::Kind::kPause || fault.kind == Fault::Kind::kStop;
}

bool changes_rate(const Fault& fault) { return fault.kind == Fault::Kind::kSlow || computes_nothing(fault); }

double rate_at(Time time, double speed, std::span<const Fault> faults) {
  double rate = speed;
  for (const Fault& fault : faults) {
    if (!changes_rate(fault) || time < fault.from || time >= fault.to) continue;
    rate = computes_nothing(fault) ? 0 : rate / fault.factor;
  }
  return rate;
}

// The product of a long time and a fast rate need not fit a Time.
Time later(Time start, double seconds) {
  const double nanoseconds = std::round(seconds * 1e9);
  const Duration room = Time(kForever) - start;
  if (!(nanoseconds < static_cast<double>(room.count()))) return Time(kForever);
  return start + Duration(static_cast<Duration::rep>(nanoseconds));
}

}  // namespace

SpeedProfile::SpeedProfile(const Cluster& cluster, Rank worker)
    : SpeedProfile(cluster.workers.at(static_cast<std::size_t>(worker)).speed, faults_of(cluster, worker)) {}

SpeedProfile::SpeedProfile(double speed, std::span<const Fault> faults) {
  std::vector<Time> changes{Time{}};
  for (const Fault& fault : faults) {
    if (!changes_rate(fault)) continue;
    changes.push_back(fault.from);
    if (fault.to < Time(kForever)) changes.push_back(fault.to);
  }
  std::sort(changes.begin(), changes.end());
  changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
  for (const Time change : changes) segments_.push_back({change, rate_at(change, speed, faults)});
}

Time SpeedProfile::finish(Time start, double work_seconds) const {
  if (!(work_seconds > 0)) return start;
  if (segments_.size() == 1 && segments_[0].rate > 0) return later(start, work_seconds / segments_[0].rate);

  auto next = std::upper_bound(segments_.begin() + 1, segments_.end(), start,
                               [](Time time, const Segment& piece) { return time < piece.begin; });
  double left = work_seconds;
  Time now = start;
  for (;; ++next) {
    const double rate = (next - 1)->rate;
    if (next == segments_.end()) return rate > 0 ? later(now, left / rate) : Time(kForever);
    const double possible = seconds_of(next->begin - now) * rate;
    if (left <= possible) return later(now, left / rate);
    left -= possible;
    now = next->begin;
  }
}

}  // namespace starling::cluster
