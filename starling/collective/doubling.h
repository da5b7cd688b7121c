// Few steps for small data: the number of members that a member knows about doubles in every step, so about
// log2 g steps suffice.
// For M bytes in a group of g, with p = 2^floor(log2 g), the largest power of two in g:
//
//               steps              bytes sent by a member
//   all-reduce  log2 p, +2 if g>p  log2 p * M; where g>p: M by each of the g-p members that are folded away,
//                                  and M more by each of their partners (fold.h)
//   all-gather  ceil(log2 g)       (g-1)/g M
//   broadcast   ceil(log2 g)       M for each child in the tree; g-1 messages in all
//   barrier     ceil(log2 g)       0
//
// Order of the all-reduce: a balanced tree over the group's order. Step k combines blocks of 2^k neighbouring
// seats, always lower block op higher block, so both partners compute the same bits.
#pragma once

#include "starling/collective/collective.h"

namespace starling::collective {

// Recursive doubling: each step exchanges the whole vector with the partner at distance 1, 2, 4, ... `data`
// is of an accumulator type.
Task<> doubling_all_reduce(Transport& net, const Group& group, Data data, ReduceOp op, Tag tag);

// Bruck's algorithm ("Efficient algorithms for all-to-all communications", 1997): in step k a member sends
// the 2^k slices from its own one on to the member 2^k positions before it. Works on a rotated copy, in which
// the slices to be sent are contiguous; `data` is written at the end.
Task<> doubling_all_gather(Transport& net, const Group& group, Data data, Tag tag);

// Along a binomial tree: in step k the members that have the data pass it on over a distance of p, p/2, ...
// positions.
Task<> tree_broadcast(Transport& net, const Group& group, Rank root, Data data, Tag tag);

// Dissemination: in round k a member notifies the one 2^k positions further on; its message stands for all
// the messages that it has received, so after ceil(log2 g) rounds every member has heard, indirectly, from
// all.
Task<> dissemination_barrier(Transport& net, const Group& group, Tag tag);

}  // namespace starling::collective
