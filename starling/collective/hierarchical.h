// Two levels, for groups whose members share hosts: within a host they work in memory or over its inside
// link, and between hosts every member drives a slice of its own, so that all of them fill the host's link
// together.
//
// What happens to a part of the data is told in compute_spans.h. For M bytes on h hosts each host sends 2
// (h-1)/h M and receives as much, at the same time, which is the least that is possible.
//
// Large data goes in chunks, several of which are under way at once: while one is on the link others are
// summed in memory. The halves go as one: their slices are where the caller wants them. There one block is on
// the link while another is worked on.
#pragma once

#include "starling/collective/collective.h"

namespace starling::collective {

// Whether the group has members on several hosts.
bool spans_hosts(const Transport& net, const SharedGroup& group);

// ... and it is worthwhile: several of them are on one host, or there are few.
bool hierarchical_suits(const Transport& net, const SharedGroup& group);

// Of a group on several hosts: whether those of a host stand together in it, as the slices of the halves need
// it.
bool hierarchical_halves_possible(const Transport& net, const SharedGroup& group);

// A member that fails holds its old data.
Task<> hierarchical_all_reduce(Transport& net, SharedGroup group, Data data, Reduction how, Tag tag);

// The halves: the block of a host is what the slices of its members are together.
Task<> hierarchical_reduce_scatter(Transport& net, SharedGroup group, Data data, Reduction how, Tag tag);
Task<> hierarchical_all_gather(Transport& net, SharedGroup group, Data data, Tag tag);

// From the root to its host; from host to host in as many lanes as every host has members, by a tree or, if
// there are many chunks, in a row; then within each host.
Task<> hierarchical_broadcast(Transport& net, SharedGroup group, Rank root, Data data, Tag tag);

}  // namespace starling::collective
