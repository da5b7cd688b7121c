#include "starling/strategy/batch/batch_parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "starling/strategy/worker.h"

namespace starling::strategy {

namespace {

constexpr double kHysteresis = 0.04;  // of a part

// What each would get by its speed alone, of what those that are not at a limit share.
void share_out(const std::vector<double>& seconds, const std::vector<bool>& fixed, double rest,
               std::vector<double>& parts) {
  double speeds = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!fixed[i] && seconds[i] > 0) speeds += 1 / seconds[i];
  }
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!fixed[i] && seconds[i] > 0) parts[i] = rest / seconds[i] / speeds;
  }
}

// Whole samples: the largest fractions are rounded up.
void round_parts(std::vector<double>& parts, const std::vector<double>& most, double total) {
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return parts[a] - std::floor(parts[a]) > parts[b] - std::floor(parts[b]);
  });
  double left = total;
  for (double& part : parts) left -= part = std::floor(part);
  for (bool given = true; left >= 1 && given;) {
    given = false;
    for (const std::size_t i : order) {
      const bool full = most[i] > 0 && parts[i] >= most[i];
      if (left < 1 || parts[i] == 0 || full) continue;
      ++parts[i];
      --left;
      given = true;
    }
  }
}

}  // namespace

// A worker that gets less than a sample, or more than its limit, is taken out of the division, and the others
// share the rest.
std::vector<double> divide_batch(const std::vector<double>& seconds, const std::vector<double>& most,
                                 double total) {
  std::vector<double> parts(seconds.size());
  std::vector<bool> fixed(seconds.size());
  double rest = total;
  for (bool again = true; again;) {
    again = false;
    share_out(seconds, fixed, rest, parts);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      if (fixed[i] || seconds[i] <= 0) continue;
      const bool over = most[i] > 0 && parts[i] > most[i];
      if (!over && parts[i] >= 1) continue;
      parts[i] = over ? most[i] : 1;
      rest = std::max(0.0, rest - parts[i]);
      fixed[i] = again = true;
    }
  }
  round_parts(parts, most, total);
  return parts;
}

BatchParts::BatchParts(int workers, std::vector<double> most)
    : most_(std::move(most)), parts_(static_cast<std::size_t>(workers)) {}

void BatchParts::keep_with(Member& member) {
  member.keep("balance/total", bytes_of(total_));
  member.keep("balance/parts", std::as_writable_bytes(std::span(parts_)));
}

Portion BatchParts::of(Rank worker) const {
  if (!known()) return Portion::equal(worker, static_cast<int>(parts_.size()));
  const auto own = parts_.begin() + worker;
  const double begin = std::accumulate(parts_.begin(), own, 0.0);
  return {begin / total_, (begin + *own) / total_};
}

// One that does not know its speed yet, because its steps had no samples, is waited for.
void BatchParts::divide(const std::vector<double>& seconds, double samples) {
  if (!known()) total_ = samples;
  if (!known() || std::ranges::any_of(seconds, [](double each) { return each < 0; })) return;
  const std::vector<double> parts = divide_batch(seconds, most_, total_);
  bool off = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    off = off || std::abs(parts[i] - parts_[i]) > std::max(0.5, kHysteresis * parts_[i]);
  }
  if (off) parts_ = parts;
}

}  // namespace starling::strategy
