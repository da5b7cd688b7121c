// NoLoCo (Kolehmainen et al., "NoLoCo: no-all-reduce low communication training of large models", 2025):
// workers train alone for `period` steps, then each makes a step of an outer optimiser with one other worker,
// drawn at random. Nobody waits for all. With T_i the worker's slow model, from which it started the period,
// x_i its model now, and means over the two of the pair:
//
//   m_i <- b m_i + a mean(x - T) + a (mean T - T_i);  T_i <- T_i + m_i;  x_i <- T_i
//
// The first term moves both in the direction of their changes, the second draws the two slow models together.
// All workers draw the same random matching for every round, without messages. Ours: one is left alone if
// their number is odd, and so is a worker whose partner is lost; then both means are its own.
//
// Bytes sent per worker and round: 2 M. A run of one is not plain SGD.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "starling/strategy/registry.h"

namespace starling::strategy {

class Noloco final : public Strategy {
 public:
  Noloco(const Options& options, int workers);
  Task<> run(Worker& self) const override;

  struct Rule {
    double rate = 0.7;      // a
    double momentum = 0.5;  // b
  };

 private:
  std::uint64_t period_;
  Rule rule_;
};

// The partner in this round, counted from 1.
std::optional<Rank> noloco_partner(std::uint64_t round, Rank rank, int workers);

// A model and the slow model that it started from.
template <class Number>
struct SlowPair {
  std::span<Number> model;
  std::span<Number> slow;
};

// The step above. `other` is the pair of the partner, or the worker's own.
void noloco_step(const Noloco::Rule& rule, std::span<float> momentum, const SlowPair<float>& own,
                 const SlowPair<const float>& other);

StrategyEntry noloco_row();

}  // namespace starling::strategy
