#include "starling/analysis/draw_sums.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "starling/analysis/fourier.h"
#include "starling/analysis/order_statistics.h"

namespace starling::analysis {

using cluster::Jitter;

namespace {

constexpr std::size_t kGrid = std::size_t{1} << 16;
constexpr double kBeyondGrid = 1e-6;
constexpr double kLongest = 300;  // of a factor on the grid: with a heavy tail its steps would be too large
constexpr double kRounding = 1e-13;  // of a probability from the grid

// P(Poisson(t) < count)
double erlang_above(double t, int count) {
  if (t <= 0) return 1;
  const bool upwards = t < count;
  double i = upwards ? count : count - 1;
  double term = std::exp(-t + i * std::log(t) - std::lgamma(i + 1)), sum = 0;
  while (term > 0 && i >= 0 && term > sum * 1e-17) {
    sum += term;
    term *= upwards ? t / ++i : i-- / t;
  }
  return upwards ? 1 - sum : sum;
}

TimeLaw erlang_law(int count) {
  const auto above = [count](double t) { return erlang_above(t, count); };
  const auto density = [count](double t) {
    if (t <= 0) return count == 1 ? 1.0 : 0.0;
    return std::exp(-t + (count - 1) * std::log(t) - std::lgamma(count));
  };
  return TimeLaw({{}, above, density, quantiles_of(above, 0), static_cast<double>(count)});
}

TimeLaw binomial_law(const std::vector<Atom>& factor, int count) {
  const Atom &low = factor.front(), &high = factor.back();
  if (factor.size() == 1) return TimeLaw({.atoms = {{count * low.at, 1}}, .mean = count * low.at});
  const std::vector<double> one{1};
  const std::vector<double> masses =
      times_power(one, low.mass, high.mass, count, static_cast<std::size_t>(count) + 1);
  std::vector<Atom> atoms;
  for (std::size_t m = 0; m < masses.size(); ++m) {
    const auto highs = static_cast<double>(m);
    atoms.push_back({(count - highs) * low.at + highs * high.at, masses[m]});
  }
  const double mean = count * (low.mass * low.at + high.mass * high.at);
  return TimeLaw({.atoms = std::move(atoms), .mean = mean});
}

std::complex<double> power(std::complex<double> base, int count) {
  std::complex<double> result = 1;
  for (; count > 0; count /= 2) {
    if (count % 2 == 1) result = product(result, base);
    base = product(base, base);
  }
  return result;
}

// The mean of P(X > t) over each step of the grid, by the rule of Simpson.
std::vector<double> mean_above(const TimeLaw& law, double step) {
  std::vector<double> means(kGrid);
  for (std::size_t j = 0; j < kGrid; ++j) {
    const double begin = static_cast<double>(j) * step;
    means[j] = (law.above(begin) + 4 * law.above(begin + step / 2) + law.from(begin + step)) / 6;
  }
  return means;
}

double time_where(const TimeLaw& law, double level) {
  const std::vector<double> times = quantiles_of([&](double t) { return law.above(t); }, 0);
  const auto found =
      std::partition_point(times.begin(), times.end(), [&](double t) { return law.above(t) > level; });
  return found == times.end() ? times.back() : *found;
}

// The mass of each point is spread over a step around it. `all` is that of the whole sum.
class GridSum {
 public:
  GridSum(std::vector<double> masses, double all, double step, const TimeLaw& factor, int count)
      : masses_(std::move(masses)),
        rest_(kGrid),
        all_(all),
        step_(step),
        end_((static_cast<double>(kGrid) - 1.5) * step),
        others_((count - 1) * factor.mean()),
        factor_(factor) {
    double beyond = std::max(0.0, all - std::accumulate(masses_.begin(), masses_.end(), 0.0));
    const double by_one = factor.above(end_ - others_);
    if (by_one < kRounding) beyond = 0;
    large_ = by_one < kRounding ? 0 : beyond / by_one;
    for (std::size_t j = kGrid; j-- > 0;) {
      rest_[j] = beyond;
      beyond += masses_[j];
    }
  }

  double above(double t) const {
    if (t >= end_) return large_ * factor_.above(t - others_);
    const double place = t / step_ + 0.5;
    if (place < 0) return all_;
    const auto point = static_cast<std::size_t>(place);
    return std::min(all_, rest_[point] + (static_cast<double>(point) + 1 - place) * masses_[point]);
  }

  double density(double t) const {
    if (t >= end_) return large_ * factor_.density(t - others_);
    if (t < 0) return 0;
    const double place = t / step_;
    const auto point = static_cast<std::size_t>(place);
    const double share = place - static_cast<double>(point);
    return ((1 - share) * masses_[point] + share * masses_[point + 1]) / step_;
  }

 private:
  std::vector<double> masses_;
  std::vector<double> rest_;  // above the middle between a point and the next
  double all_, step_, end_;
  double others_;  // what the factors besides the large one add up to
  double large_;   // about how many factors can be the large one
  TimeLaw factor_;
};

}  // namespace

DrawSums::DrawSums(const Jitter& jitter, int most) : kind_(jitter.kind), factor_(law_of(jitter)) {
  if (kind_ != Jitter::Kind::kExponential && factor_.has_density() && most > 1) make_grid(most);
}

void DrawSums::make_grid(int most) {
  const double deviation = std::max(0.0, time_where(factor_, 1e-3) - factor_.mean()) / 3;
  const double longest = std::min(kLongest, time_where(factor_, kBeyondGrid / most));
  const double end = most * factor_.mean() + 9 * std::sqrt(most) * deviation + longest;
  step_ = end / static_cast<double>(kGrid);
  // An atom is at a point of the grid.
  if (!factor_.atoms().empty()) {
    const double atom = factor_.atoms().front().at;
    step_ = atom / std::max(1.0, std::floor(atom / step_));
  }
  const std::vector<double> means = mean_above(factor_, step_);
  spectrum_.resize(2 * kGrid);  // the second half is for sums beyond the grid
  double before = 1;
  for (std::size_t j = 0; j < kGrid; ++j) {
    spectrum_[j] = before - means[j];
    before = means[j];
  }
  transform(spectrum_, false);
}

TimeLaw DrawSums::of(int count) const {
  if (count == 1) return factor_;
  if (kind_ == Jitter::Kind::kExponential) return erlang_law(count);
  if (!factor_.has_density()) return binomial_law(factor_.atoms(), count);
  return from_grid(count);
}

std::vector<double> DrawSums::masses_of(int count) const {
  Spectrum powers = spectrum_;
  for (std::complex<double>& value : powers) value = power(value, count);
  transform(powers, true);
  std::vector<double> masses(kGrid);
  for (std::size_t j = 0; j < kGrid; ++j)
    masses[j] = std::max(0.0, powers[j].real() / static_cast<double>(powers.size()));
  return masses;
}

TimeLaw DrawSums::from_grid(int count) const {
  std::vector<double> masses = masses_of(count);
  std::vector<Atom> atoms;
  double all = 1;
  for (const Atom& atom : factor_.atoms()) {
    atoms.push_back({count * atom.at, std::pow(atom.mass, count)});
    masses[static_cast<std::size_t>(std::lround(atoms.back().at / step_))] -= atoms.back().mass;
    all -= atoms.back().mass;
  }
  const auto sum = std::make_shared<const GridSum>(std::move(masses), all, step_, factor_, count);
  const auto above = [sum](double t) { return sum->above(t); };
  const auto density = [sum](double t) { return sum->density(t); };
  std::vector<double> corners = quantiles_of(above, count * factor_.corners().front());
  return TimeLaw({std::move(atoms), above, density, std::move(corners), count * factor_.mean()});
}

}  // namespace starling::analysis
