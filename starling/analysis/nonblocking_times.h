// Non-blocking SGD: a step is cut in K pieces and ends at a signal T; Y_i is the time that worker i needs for
// all of its pieces, S_ik that for the first k (piece_clock.h).
//
//   quorum q   T = q-th smallest Y_i; "first" is q = 1
//   deadline   T = min(D, max Y_i)
//   all        T = max Y_i: nothing is left out, and the step is that of sync
//
// Worker i goes on after its k-th piece unless the signal has come, S_ik > T. For a quorum this depends on
// the others only: it goes on, or is done with all, while fewer than q others are. So
//
//   drop    the step takes T; pieces that count: sum_i sum_{k=1..K} P(S_ik <= T)
//   finish  the step takes max(T, ends of the pieces under way); every worker that is not done counts one
//           piece more
//
//   P(S_ik <= T) = E P(fewer than q of the Y_j, j != i, are < S_ik)
//   E end = E T + integral over t, w > t of P(T in dt) - P(T in dt, all pieces under way end before w)
//
// where, given T = t, the workers that are not done are independent.
#pragma once

#include "starling/analysis/crew.h"
#include "starling/analysis/piece_clock.h"

namespace starling::analysis {

struct PieceRules {
  enum class Trigger { kFinishers, kDeadline, kAll };

  Trigger trigger = Trigger::kFinishers;
  int finishers = 1;
  double deadline_seconds = 0;
  bool finish = false;  // the piece under way; else it is dropped
};

// What a step comes to, without communication.
struct PieceStep {
  double seconds = 0;
  double pieces = 0;     // that count, of all workers
  double computing = 0;  // seconds, of all workers
};

// The clock is that of the crew's jitter and of the pieces; several rules may share it.
PieceStep piece_step(const Crew& crew, const PieceRules& rules, const PieceClock& clock);
RunTimes nonblocking_times(const Crew& crew, const PieceRules& rules, const PieceClock& clock);

}  // namespace starling::analysis
