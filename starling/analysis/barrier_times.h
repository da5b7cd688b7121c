// Strategies whose workers all wait for the slowest, after every step or after several, and the one that
// never waits.
//
//   sync         T = E max_i f_i X_i + c
//   local SGD    T = (E max_i f_i (X_i1 + ... + X_im) + c) / m, for m steps between two averages
//   balanced     T = E max_i w_i X_i + c, where w_i = f_i b_i / b is what the worker's part of the global
//   batch
//                takes; parts in proportion to speed have w_i = n / sum_j 1/f_j
//   nobody waits sum_i 1 / (f_i E X) batches per second: the upper bound of every strategy that loses no work
#pragma once

#include "starling/analysis/crew.h"

namespace starling::analysis {

RunTimes sync_times(const Crew& crew);
RunTimes local_sgd_times(const Crew& crew, int period);
// `shares` of the global batch by worker, as multiples of a worker's own batch; they add up to n.
RunTimes balanced_times(const Crew& crew, const std::vector<double>& shares);
RunTimes asynchronous_times(const Crew& crew);

// Where the shares are unknown, but add up to n and do not depend on the factors of the step. For workers
// alike the mean of their shares is best, since E max is convex and symmetric in the w_i; so groups g of n_g
// equal workers with P_g = n_g / f_g / sum_j 1/f_j and m_k = E max of k factors give
//
//   T >= max_g w_g m_{n_g}   and   sum_g P_g w_g = n / sum_j 1/f_j =: w,   so   T >= w / sum_g (P_g /
//   m_{n_g})
RunTimes least_balanced_times(const Crew& crew);

}  // namespace starling::analysis
