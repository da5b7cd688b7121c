#include "starling/analysis/time_law.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "starling/analysis/integral.h"

namespace starling::analysis {

using cluster::Jitter;

namespace {

constexpr double kSameTime = 1e-9;     // relative: of times that differ by rounding
constexpr double kNormalFloor = 0.05;  // where cluster::draw cuts the normal distribution
constexpr double kLatest = 1e280;

// P(N > z)
double normal_above(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }
double normal_density(double z) {
  return std::exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

TimeLaw atoms_only(std::vector<Atom> atoms) {
  double mean = 0;
  for (const Atom& atom : atoms) mean += atom.mass * atom.at;
  return TimeLaw({.atoms = std::move(atoms), .mean = mean});
}

TimeLaw normal_law(double sigma) {
  const double z = (kNormalFloor - 1) / sigma;
  const double cut = normal_above(-z);
  const auto above = [sigma](double t) { return normal_above((std::max(t, kNormalFloor) - 1) / sigma); };
  const auto density = [sigma](double t) {
    return t < kNormalFloor ? 0 : normal_density((t - 1) / sigma) / sigma;
  };
  const double mean = kNormalFloor * cut + (1 - cut) + sigma * normal_density(z);
  return TimeLaw({{{kNormalFloor, cut}}, above, density, quantiles_of(above, kNormalFloor), mean});
}

TimeLaw lognormal_law(double sigma) {
  const auto place = [sigma](double t) { return (std::log(t) + sigma * sigma / 2) / sigma; };
  const auto above = [place](double t) { return t <= 0 ? 1 : normal_above(place(t)); };
  const auto density = [place, sigma](double t) {
    return t <= 0 ? 0 : normal_density(place(t)) / (sigma * t);
  };
  return TimeLaw({{}, above, density, quantiles_of(above, 0), 1});
}

TimeLaw exponential_law() {
  const auto above = [](double t) { return std::exp(-t); };
  return TimeLaw({{}, above, above, quantiles_of(above, 0), 1});
}

TimeLaw pareto_law(double shape) {
  const double least = (shape - 1) / shape;
  const auto above = [=](double t) { return t <= least ? 1 : std::pow(least / t, shape); };
  const auto density = [=](double t) { return t < least ? 0 : shape / t * std::pow(least / t, shape); };
  return TimeLaw({{}, above, density, quantiles_of(above, least), 1});
}

TimeLaw bernoulli_law(double chance, double factor) {
  if (chance <= 0 || factor == 1) return atoms_only({{1, 1}});
  if (chance >= 1) return atoms_only({{factor, 1}});
  std::vector<Atom> atoms{{1, 1 - chance}, {factor, chance}};
  if (factor < 1) std::swap(atoms[0], atoms[1]);
  return atoms_only(std::move(atoms));
}

// Where `above` falls below the level.
double quantile(const std::function<double(double)>& above, double lowest, double level) {
  double before = lowest, after = std::max(1.0, 2 * lowest);
  while (above(after) > level && after < kLatest) before = std::exchange(after, 2 * after);
  for (int i = 0; i < 60; ++i) {
    const bool by_log = before > 0 && after > 2 * before;
    const double middle = by_log ? std::sqrt(before) * std::sqrt(after) : (before + after) / 2;
    (above(middle) > level ? before : after) = middle;
  }
  return after;
}

std::vector<double> quantile_levels() {
  std::vector<double> levels;
  for (const double rest : {1e-14, 1e-11, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.06})
    levels.push_back(1 - rest);
  for (int tenth = 9; tenth >= 1; --tenth) levels.push_back(tenth / 10.0);
  for (const double level : {0.06, 0.03}) levels.push_back(level);
  for (int power = 2; power <= 24; ++power) levels.push_back(std::pow(10, -power));
  for (int power = 30; power <= 270; power += 30) levels.push_back(std::pow(10, -power));
  return levels;
}

}  // namespace

std::vector<double> quantiles_of(const std::function<double(double)>& above, double lowest) {
  std::vector<double> times{lowest};
  const double all = above(lowest);
  for (const double level : quantile_levels()) times.push_back(quantile(above, lowest, all * level));
  return corners_from(lowest, std::move(times));
}

TimeLaw::TimeLaw(Parts parts) : parts_(std::make_shared<const Parts>(std::move(parts))) {}

TimeLaw TimeLaw::scaled(double factor) const {
  TimeLaw law = *this;
  law.scale_ *= factor;
  return law;
}

double TimeLaw::atoms_beyond(double limit) const {
  double mass = 0;
  for (auto atom = parts_->atoms.rbegin(); atom != parts_->atoms.rend() && atom->at > limit; ++atom)
    mass += atom->mass;
  return mass;
}

double TimeLaw::above(double t) const {
  const double own = t / scale_;
  return std::min(1.0, atoms_beyond(own * (1 + kSameTime)) + (parts_->above ? parts_->above(own) : 0));
}

double TimeLaw::from(double t) const {
  const double own = t / scale_;
  return std::min(1.0, atoms_beyond(own * (1 - kSameTime)) + (parts_->above ? parts_->above(own) : 0));
}

double TimeLaw::density(double t) const { return parts_->density ? parts_->density(t / scale_) / scale_ : 0; }

std::vector<Atom> TimeLaw::atoms() const {
  std::vector<Atom> atoms = parts_->atoms;
  for (Atom& atom : atoms) atom.at *= scale_;
  return atoms;
}

std::vector<double> TimeLaw::corners() const {
  std::vector<double> corners = parts_->corners;
  for (const Atom& atom : parts_->atoms) corners.push_back(atom.at);
  for (double& corner : corners) corner *= scale_;
  return corners;
}

double TimeLaw::mean_of(const std::function<double(double)>& function, std::vector<double> corners) const {
  double sum = 0;
  for (const Atom& atom : atoms()) sum += atom.mass * function(atom.at);
  if (!has_density()) return sum;
  const double lowest = parts_->corners.front() * scale_, highest = parts_->corners.back() * scale_;
  std::erase_if(corners, [=](double corner) { return corner > highest; });
  for (const double corner : parts_->corners) corners.push_back(corner * scale_);
  const std::vector<Node> nodes = nodes_between(corners_from(lowest, std::move(corners)));
  return sum + integral(nodes, [&](double t) { return density(t) * function(t); });
}

TimeLaw law_of(const Jitter& jitter) {
  switch (jitter.kind) {
    case Jitter::Kind::kNone:
      return atoms_only({{1, 1}});
    case Jitter::Kind::kNormal:
      return jitter.a == 0 ? atoms_only({{1, 1}}) : normal_law(jitter.a);
    case Jitter::Kind::kLognormal:
      return jitter.a == 0 ? atoms_only({{1, 1}}) : lognormal_law(jitter.a);
    case Jitter::Kind::kExponential:
      return exponential_law();
    case Jitter::Kind::kPareto:
      return pareto_law(jitter.a);
    case Jitter::Kind::kBernoulli:
      return bernoulli_law(jitter.a, jitter.b);
  }
  return atoms_only({{1, 1}});
}

}  // namespace starling::analysis
