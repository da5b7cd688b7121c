#include "starling/analysis/piece_clock.h"

#include <algorithm>
#include <cmath>

namespace starling::analysis {

namespace {

std::vector<TimeLaw> ends_of_shared(const TimeLaw& factor, int pieces) {
  std::vector<TimeLaw> ends;
  for (int k = 1; k <= pieces; ++k) ends.push_back(factor.scaled(static_cast<double>(k) / pieces));
  return ends;
}

std::vector<TimeLaw> ends_of_own(const cluster::Jitter& jitter, int pieces) {
  const DrawSums sums(jitter, pieces);
  std::vector<TimeLaw> ends;
  for (int k = 1; k <= pieces; ++k) ends.push_back(sums.of(k).scaled(1.0 / pieces));
  return ends;
}

// P(X > t) of a law with a density, quickly: linear between the points of a table. Of others, as it is.
class AboveTable {
 public:
  explicit AboveTable(const TimeLaw& law) : law_(law) {
    if (!law.has_density()) return;
    double end = law.mean();
    while (law.above(end) > kRest) end *= 1.25;
    step_ = end / kPoints;
    for (int i = 0; i <= kPoints; ++i) values_.push_back(law.above(i * step_));
  }

  double above(double t) const {
    const double place = t / step_;
    if (t < 0 || values_.empty() || place >= kPoints) return law_.above(t);
    const auto point = static_cast<std::size_t>(place);
    return values_[point] + (place - static_cast<double>(point)) * (values_[point + 1] - values_[point]);
  }

 private:
  static constexpr int kPoints = 1 << 15;
  static constexpr double kRest = 1e-5;  // beyond the table

  TimeLaw law_;
  double step_ = 1;
  std::vector<double> values_;
};

class SharedFactor final : public PieceClock {
 public:
  SharedFactor(const TimeLaw& factor, int pieces) : PieceClock(ends_of_shared(factor, pieces)) {}

  // With j pieces done at t, X is in (K t / (j + 1), K t / j], and the next ends at (j + 1) X / K.
  Function late_after(double t) const override {
    std::vector<double> beyond(static_cast<std::size_t>(pieces()));
    for (int j = 1; j < pieces(); ++j) beyond[static_cast<std::size_t>(j)] = end().above(t * pieces() / j);
    return [this, beyond](double w) {
      double sum = 0;
      for (int j = 0; j < pieces(); ++j) {
        sum += std::max(0.0, end().above(w * pieces() / (j + 1)) - beyond[static_cast<std::size_t>(j)]);
      }
      return sum;
    };
  }

  std::vector<double> corners_after(double t) const override {
    std::vector<double> corners;
    for (int j = 1; j < pieces(); ++j) corners.push_back(t * (j + 1) / j);
    for (const double corner : end().corners()) corners.push_back(corner / pieces());
    for (const Atom& atom : end().atoms()) {
      for (int k = 1; k <= pieces(); ++k) corners.push_back(atom.at * k / pieces());
    }
    return corners;
  }

  double seconds_begun(const Function& goes_on, const std::vector<double>& corners) const override {
    double seconds = end().mean() / pieces();
    for (int k = 1; k < pieces(); ++k) {
      seconds += end_of(k).mean_of([&](double s) { return s / k * goes_on(s); }, corners);
    }
    return seconds;
  }
};

class OwnFactors final : public PieceClock {
 public:
  OwnFactors(const cluster::Jitter& jitter, int pieces)
      : PieceClock(ends_of_own(jitter, pieces)),
        memoryless_(jitter.kind == cluster::Jitter::Kind::kExponential),
        piece_(end_of(1)) {}

  // The sum over k < K of the integral over s <= t, s being the end of k pieces, of P(X / K > w - s).
  Function late_after(double t) const override {
    if (memoryless_) {
      return [this, t, late = end().above(t)](double w) { return late * end_of(1).above(w - t); };
    }
    return [this, begun = begins_until(t)](double w) {
      double sum = 0;
      for (const Atom& begin : begun) sum += begin.mass * piece_.above(w - begin.at);
      return sum;
    };
  }

  std::vector<double> corners_after(double t) const override {
    std::vector<double> corners;
    for (const double corner : end_of(1).corners()) corners.push_back(t + corner);
    for (int k = 1; k <= pieces(); ++k) {
      for (const Atom& atom : end_of(k).atoms()) corners.push_back(atom.at);
    }
    return corners;
  }

  // The equation of Wald: whether a piece is begun is independent of its factor.
  double seconds_begun(const Function& goes_on, const std::vector<double>& corners) const override {
    double begun = 1;
    for (int k = 1; k < pieces(); ++k) begun += end_of(k).mean_of(goes_on, corners);
    return begun * end_of(1).mean();
  }

 private:
  // When pieces begin, up to t; those with a density by cells.
  std::vector<Atom> begins_until(double t) const {
    constexpr int kCells = 400;
    std::vector<Atom> begins{{0, 1}};
    const bool density = end_of(1).has_density();
    double before = 0;
    for (int cell = 1; cell <= kCells && density && pieces() > 1; ++cell) {
      double until = 0;
      for (int k = 1; k < pieces(); ++k) until += 1 - end_of(k).above(t * cell / kCells);
      begins.push_back({t * (cell - 0.5) / kCells, until - before});
      before = until;
    }
    for (int k = 1; k < pieces() && !density; ++k) {
      for (const Atom& atom : end_of(k).atoms()) {
        if (atom.at <= t * (1 + 1e-9)) begins.push_back(atom);
      }
    }
    return begins;
  }

  bool memoryless_;
  AboveTable piece_;
};

}  // namespace

double PieceClock::pieces_done(const Function& goes_on, const std::vector<double>& corners) const {
  double sum = 0;
  for (const TimeLaw& end : ends_) sum += end.mean_of(goes_on, corners);
  return sum;
}

std::unique_ptr<PieceClock> make_piece_clock(const cluster::Jitter& jitter, int pieces,
                                             bool factor_by_piece) {
  if (factor_by_piece) return std::make_unique<OwnFactors>(jitter, pieces);
  return std::make_unique<SharedFactor>(law_of(jitter), pieces);
}

}  // namespace starling::analysis
