// Collectives through memory that all members map: `direct`. One step; every element is summed once, in the
// order of the group; about 2 g M bytes move through memory in all (each member's data is read once and
// written once). All or nothing when members die: see direct_meeting.h.
//
// Data in memory from Transport::allocate is used in place. Other data is copied into shared memory first and
// back afterwards.
#pragma once

#include "starling/collective/collective.h"

namespace starling::collective {

// Whether all members share memory with this rank.
bool direct_possible(Transport& net, const Group& group);

Task<> direct_all_reduce(Transport& net, Group group, Data data, Reduction how, Tag tag);
Task<> direct_reduce_scatter(Transport& net, Group group, Data data, Reduction how, Tag tag);
Task<> direct_all_gather(Transport& net, Group group, Data data, Tag tag);
Task<> direct_broadcast(Transport& net, Group group, Rank root, Data data, Tag tag);
Task<> direct_barrier(Transport& net, Group group, Tag tag);

}  // namespace starling::collective
