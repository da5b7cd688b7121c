// The ring (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009): each member communicates
// with its two neighbours only, and in every step each sends one slice to the right while it receives one
// from the left.
//
//                   steps       bytes sent by each member, for M bytes in a group of g
//   reduce-scatter  g - 1       (g-1)/g M
//   all-gather      g - 1       (g-1)/g M
//   all-reduce      2 (g - 1)   2 (g-1)/g M, which is the least possible
//
// Time: (g-1) (alpha + M/g beta) for each half.
//
// Order: slice i starts at member i+1 and travels around; it becomes (((x[i+1] + x[i+2]) + ...) + x[i]),
// indices modulo g. Each element is summed by one chain of members and then copied, so all members hold the
// same bits.
//
// Counts need not be divisible by g. With fewer elements than members some slices are empty; they are sent
// all the same, so that every group of g takes the same steps.
#pragma once

#include "starling/collective/collective.h"

namespace starling::collective {

// Slice i of member i becomes the reduction; the other slices end as partial results that nobody may read.
// `data` is of an accumulator type.
Task<> ring_reduce_scatter(Transport& net, const Group& group, Data data, ReduceOp op, Tag tag);

Task<> ring_all_gather(Transport& net, const Group& group, Data data, Tag tag);

// Both, one after the other.
Task<> ring_all_reduce(Transport& net, const Group& group, Data data, ReduceOp op, Tag tag);

}  // namespace starling::collective
