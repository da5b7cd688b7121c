// Backup workers on a parameter server: a version of the model needs the gradients of k = n - b workers. A
// late gradient is completed, sent and dropped; only then does its worker fetch the new model.
//
// For exponential factors and equal workers this is exact, since residuals are exponential too. With f
// workers that compute on the present model and s on an old one, the rest of a version takes
//
//   T(f, s) = [1 + f T(f-1, s) + s T(f+1, s-1)] / (f + s)          T = 0 where f + s = b
//   C(f, s) = 1 + [f C(f-1, s) + s C(f+1, s-1)] / (f + s)          C = 0 there
//
// and C gradients end meanwhile, so that a version takes T(k, b) and a worker's own step n T / C. In general
//
//   E k-th smallest of n <= T <= E max of the k slowest workers:
//
// a gradient of the version comes no sooner than a step after the version begins, and the k workers that made
// the last version begin at once.
#pragma once

#include "starling/analysis/crew.h"

namespace starling::analysis {

// The share of waiting is known where it is exact.
RunTimes backup_times(const Crew& crew, int backup);

}  // namespace starling::analysis
