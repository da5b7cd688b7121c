#include "starling/collective/cost.h"

#include <algorithm>
#include <bit>

#include "starling/collective/fold.h"
#include "starling/collective/halving.h"
#include "starling/core/error.h"
#include "starling/core/partition.h"

namespace starling::collective {

namespace {

std::size_t floor_log2(std::size_t n) { return static_cast<std::size_t>(std::bit_width(n)) - 1; }
std::size_t ceil_log2(std::size_t n) { return static_cast<std::size_t>(std::bit_width(n - 1)); }

// In elements until cost_of multiplies.
Cost operator+(Cost a, Cost b) { return {a.steps + b.steps, a.messages + b.messages, a.bytes + b.bytes}; }

// All slices but the member's own one, one by one.
Cost ring_reduce_scatter(const Call& call, std::size_t index) {
  const std::size_t steps = call.members - 1;
  return {steps, steps, call.count - slice_of(call.count, call.members, index).size()};
}

// All slices but the right neighbour's.
Cost ring_all_gather(const Call& call, std::size_t index) {
  return ring_reduce_scatter(call, (index + 1) % call.members);
}

// Folding adds two steps, and each member of a pair sends the vector once.
Cost fold_cost(const Call& call, std::size_t index) {
  const Fold fold(call.members);
  if (fold.extras() == 0) return {};
  const bool paired = fold.has_partner(index);
  return {2, paired ? 1u : 0u, paired ? call.count : 0};
}

// The exchange between seats; the members that sit out send nothing in it.
Cost between_seats(const Call& call, std::size_t index, Cost cost) {
  if (Fold(call.members).sits_out(index)) cost.messages = cost.bytes = 0;
  return cost;
}

Cost doubling_all_reduce(const Call& call, std::size_t index) {
  const std::size_t steps = floor_log2(call.members);
  return between_seats(call, index, {steps, steps, steps * call.count}) + fold_cost(call, index);
}

Cost doubling_all_gather(const Call& call, std::size_t index) {
  Cost cost;
  for (std::size_t have = 1; have < call.members; have *= 2) {
    const std::size_t slices = std::min(have, call.members - have);
    for (std::size_t i = 0; i < slices; ++i) {
      cost.bytes += slice_of(call.count, call.members, (index + i) % call.members).size();
    }
    ++cost.steps;
    ++cost.messages;
  }
  return cost;
}

// All slices but the seat's own one, in halves.
Cost halve(const Call& call, std::size_t index) {
  const Fold fold(call.members);
  const std::size_t steps = floor_log2(fold.seats());
  const std::size_t own = slice_of(call.count, fold.seats(), fold.seat_of(index)).size();
  return between_seats(call, index, {steps, steps, call.count - own});
}

// The aligned blocks of 1, 2, 4, ... slices around the seat, except the last, which is everything.
Cost join_halves(const Call& call, std::size_t index) {
  const Fold fold(call.members);
  const std::size_t seat = fold.seat_of(index);
  Cost cost;
  for (std::size_t length = 1; length < fold.seats(); length *= 2) {
    const std::size_t first = seat & ~(length - 1);
    cost.bytes += slice_of(call.count, fold.seats(), first + length - 1).end -
                  slice_of(call.count, fold.seats(), first).begin;
    ++cost.steps;
    ++cost.messages;
  }
  return between_seats(call, index, cost);
}

Cost tree_broadcast(const Call& call, std::size_t index) {
  Cost cost{ceil_log2(call.members), 0, 0};
  const std::size_t reach = index == 0 ? std::bit_ceil(call.members) : index & (~index + 1);
  for (std::size_t child = reach / 2; child > 0; child /= 2) {
    if (index + child < call.members) ++cost.messages;
  }
  cost.bytes = cost.messages * call.count;
  return cost;
}

Cost all_reduce(const Call& call, std::size_t index) {
  if (call.algorithm == Algorithm::kDoubling) return doubling_all_reduce(call, index);
  if (call.algorithm == Algorithm::kHalving)
    return halve(call, index) + join_halves(call, index) + fold_cost(call, index);
  return ring_reduce_scatter(call, index) + ring_all_gather(call, index);
}

Cost elements_of(const Call& call, std::size_t index) {
  const bool halves = call.algorithm == Algorithm::kHalving && halving_splits(call.members);
  const bool doubles = call.algorithm == Algorithm::kDoubling;
  switch (call.kind) {
    case Collective::kAllReduce:
      return all_reduce(call, index);
    case Collective::kReduceScatter:
      if (doubles) return doubling_all_reduce(call, index);
      return halves ? halve(call, index) : ring_reduce_scatter(call, index);
    case Collective::kAllGather:
      if (doubles) return doubling_all_gather(call, index);
      return halves ? join_halves(call, index) : ring_all_gather(call, index);
    case Collective::kBroadcast:
      return tree_broadcast(call, index);
    case Collective::kGather:
      if (index == 0) return {1, 0, 0};
      return {1, 1, slice_of(call.count, call.members, index).size()};
    case Collective::kBarrier:
      return {ceil_log2(call.members), ceil_log2(call.members), 0};
  }
  return {};
}

// How many times the whole data passes one link, one after the other.
double passes_of(const Call& call) {
  const Fold fold(call.members);
  const auto part = [](std::size_t n) { return static_cast<double>(n - 1) / static_cast<double>(n); };
  const double folding = fold.extras() > 0 ? 2 : 0;
  const auto steps = static_cast<double>(floor_log2(call.members));
  const bool doubles = call.algorithm == Algorithm::kDoubling;
  switch (call.kind) {
    case Collective::kAllReduce:
      if (doubles) return steps + folding;
      return call.algorithm == Algorithm::kHalving ? 2 * part(fold.seats()) + folding
                                                   : 2 * part(call.members);
    case Collective::kReduceScatter:
      return doubles ? steps + folding : part(call.members);
    case Collective::kAllGather:
      return part(call.members);
    case Collective::kBroadcast:
      return static_cast<double>(ceil_log2(call.members));
    case Collective::kGather:
      return 1 / static_cast<double>(call.members);
    case Collective::kBarrier:
      return 0;
  }
  return 0;
}

}  // namespace

Cost cost_of(const Call& call, std::size_t index) {
  if (call.algorithm == Algorithm::kHierarchical)
    throw InvalidArgument("what hierarchical costs depends on who shares a host");
  if (call.members == 1 || call.algorithm == Algorithm::kDirect) return {};
  Cost cost = elements_of(call, index);
  cost.bytes *= call.element_bytes;
  return cost;
}

double time_of(const Call& call, double alpha, double seconds_per_byte) {
  if (call.members == 1 || call.algorithm == Algorithm::kDirect) return 0;
  const auto bytes = static_cast<double>(call.count * call.element_bytes);
  return static_cast<double>(cost_of(call, 0).steps) * alpha + passes_of(call) * bytes * seconds_per_byte;
}

}  // namespace starling::collective
