// The distribution of a random time above 0: atoms, and a density between them.
//
// The factors are those that cluster::draw makes, with these means:
//   none             1
//   normal:S         max(c, 1 + S N), c = 0.05: an atom at c with probability Phi(z), z = (c - 1)/S;
//                    mean c Phi(z) + (1 - Phi(z)) + S phi(z)
//   lognormal:S      P(X <= t) = Phi((ln t + S^2/2)/S); mean 1
//   exponential      P(X <= t) = 1 - e^-t; mean 1
//   pareto:A         P(X > t) = (m/t)^A for t >= m = (A - 1)/A; mean 1
//   bernoulli:P:F    F with probability P, else 1; mean 1 + P (F - 1)
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "starling/cluster/jitter.h"

namespace starling::analysis {

struct Atom {
  double at = 0;
  double mass = 0;
};

class TimeLaw {
 public:
  struct Parts {
    std::vector<Atom> atoms = {};              // by time
    std::function<double(double)> above = {};  // mass of the density beyond; none: there is no density
    std::function<double(double)> density = {};
    std::vector<double> corners = {};  // of the density; beyond the last there is nothing worth mentioning
    double mean = 1;
  };

  explicit TimeLaw(Parts parts);

  TimeLaw scaled(double factor) const;

  // P(X > t) and P(X >= t). Atoms that differ from t by rounding only are at t.
  double above(double t) const;
  double from(double t) const;
  double density(double t) const;
  double mean() const { return parts_->mean * scale_; }

  bool has_density() const { return static_cast<bool>(parts_->density); }
  std::vector<Atom> atoms() const;
  // Where the distribution jumps or bends, and enough places between for integrals.
  std::vector<double> corners() const;

  // E h(X). `corners` are those of h.
  double mean_of(const std::function<double(double)>& function, std::vector<double> corners = {}) const;

 private:
  double atoms_beyond(double limit) const;

  std::shared_ptr<const Parts> parts_;
  double scale_ = 1;
};

// Of one factor.
TimeLaw law_of(const cluster::Jitter& jitter);

// Times that `above` falls to in steps, for `corners`; `above` is 1 at `lowest`, or less by an atom.
std::vector<double> quantiles_of(const std::function<double(double)>& above, double lowest);

}  // namespace starling::analysis
