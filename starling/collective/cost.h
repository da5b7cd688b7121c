// The cost of a message-based collective: what each member sends, and the time on a network where a message
// of m bytes takes alpha + m beta. The tests compare the counted traffic and the virtual clock with these
// formulas.
//
// `hierarchical` is not included: its cost depends on which members share a host.
//
// `direct` sends nothing; it costs memory bandwidth (docs/collectives.md). A weighted mean adds an all-gather
// of one float64 per member by doubling. 16-bit elements travel as float32 in reductions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "starling/collective/collective.h"

namespace starling::collective {

enum class Collective { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kGather, kBarrier };

// A call of a collective. The root is member 0 where there is one.
struct Call {
  Collective kind = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  std::size_t members = 1;
  std::size_t count = 0;
  std::size_t element_bytes = 4;  // as they travel
};

struct Cost {
  std::size_t steps = 0;  // of the whole call: messages that have to wait for one another
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;  // payload
};

// The cost of what member `index` sends. InvalidArgument for hierarchical.
Cost cost_of(const Call& call, std::size_t index);

// Seconds until the last member is done, all having started together. Exact where the members' slices are
// equal.
double time_of(const Call& call, double alpha, double seconds_per_byte);

}  // namespace starling::collective
