// Recursive halving and doubling (Rabenseifner; Thakur, Rabenseifner and Gropp, "Optimization of collective
// communication operations in MPICH", 2005): as few bytes as the ring and as few steps as twice the doubling.
// For M bytes in a group of g, with p = 2^floor(log2 g), the largest power of two in g:
//
//                           steps                   bytes sent by each member
//   reduce-scatter (g = p)  log2 g                  (g-1)/g M
//   all-gather (g = p)      log2 g                  (g-1)/g M
//   all-reduce              2 log2 p, +2 if g > p   2 (p-1)/p M, and where g > p the fold (fold.h): M by each
//                                                   of the g-p members that are folded away, M more by
//                                                   each of their partners
//
// In step k of the reduce-scatter the partners at distance p/2^k split what they are both responsible for:
// each sends the half it gives up. The all-gather runs the same steps backwards.
//
// Order: each element is summed once, along a tree that first joins seats p/2 apart, then p/4, ..., always
// lower seat op higher seat; then it is copied. So all members hold the same bits.
//
// The halves alone exist for powers of two only: folded members would be left without a slice.
#pragma once

#include <bit>

#include "starling/collective/collective.h"

namespace starling::collective {

// Whether halving has a reduce-scatter and an all-gather of its own; otherwise the ring is used.
inline bool halving_splits(std::size_t members) { return std::has_single_bit(members); }

// Slice i of member i becomes the reduction; the other slices end as partial results. `data` is of an
// accumulator type, the group a power of two.
Task<> halving_reduce_scatter(Transport& net, const Group& group, Data data, ReduceOp op, Tag tag);

// The group is a power of two.
Task<> halving_all_gather(Transport& net, const Group& group, Data data, Tag tag);

// Any group. `data` is of an accumulator type.
Task<> halving_all_reduce(Transport& net, const Group& group, Data data, ReduceOp op, Tag tag);

}  // namespace starling::collective
