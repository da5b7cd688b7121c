// Bounded staleness (SSP) with bound s: a worker begins step c + 1 when all have finished step c + 1 - s.
//
// For exponential factors and equal workers this is exact: how many workers k_0 >= 1, k_1, ..., k_s are 0 to
// s steps ahead of the slowest is a Markov chain, in which one of the k_l goes on at the rate k_l for l < s,
// and T = n / E(n - k_s). In general, with S_m for the sum of m factors,
//
//   max_m E max_i f_i S_{m+1} / (s + m) <= T <= E max_i f_i S_s / s:
//
// m + 1 steps of any worker follow what had to be finished s + m steps before, and a barrier after every s
// steps keeps the bound. The lower bound is at least max_i f_i E X.
#pragma once

#include <optional>

#include "starling/analysis/crew.h"

namespace starling::analysis {

// Nothing is added for communication: nobody waits for all.
RunTimes ssp_times(const Crew& crew, int staleness);

// The time of a step for equal workers with exponential factors of mean 1; none if the chain has too many
// states.
std::optional<double> ssp_step_of_chain(int workers, int staleness);

}  // namespace starling::analysis
