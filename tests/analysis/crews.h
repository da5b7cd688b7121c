// Workers of formulas in tests.
#pragma once

#include "starling/analysis/crew.h"

namespace starling::analysis {

inline Crew equal_crew(int workers, const char* jitter) {
  return {std::vector<double>(static_cast<std::size_t>(workers), 1.0),
          cluster::parse_jitter(jitter, "jitter")};
}

// Worker 0 takes so many times as long.
inline Crew crew_with_slow(int workers, const char* jitter, double factor) {
  Crew crew = equal_crew(workers, jitter);
  crew.seconds[0] = factor;
  return crew;
}

}  // namespace starling::analysis
