// Two levels, for groups whose members share hosts: within a host they work in memory or over its inside
// link, and between hosts every member drives a slice of its own, so that all of them fill the host's link
// together.
//
// two_level_transfer.h describes what happens to a part of the data. For M bytes on h hosts each host sends 2
// (h-1)/h M and receives as much, at the same time, which is the least possible.
//
// Large data goes in chunks, several of which are in progress at once: while one is on the link others are
// summed in memory. The halves go as one, because their slices are where the caller wants them. There one
// block is on the link while another is processed.
#pragma once

#include "starling/collective/collective.h"

namespace starling::collective {

// Whether the group has members on several hosts.
bool spans_hosts(const Transport& net, const SharedGroup& group);

// ... and two levels are worthwhile: several members are on one host, or there are few members.
bool hierarchical_suits(const Transport& net, const SharedGroup& group);

// For a group on several hosts: whether the members of each host are consecutive in it, as the slices of the
// halves require.
bool hierarchical_halves_possible(const Transport& net, const SharedGroup& group);

// A member that fails holds its old data.
Task<> hierarchical_all_reduce(Transport& net, SharedGroup group, Data data, Reduction how, Tag tag);

// The halves: the block of a host consists of the slices of its members.
Task<> hierarchical_reduce_scatter(Transport& net, SharedGroup group, Data data, Reduction how, Tag tag);
Task<> hierarchical_all_gather(Transport& net, SharedGroup group, Data data, Tag tag);

// From the root to its host; from host to host in as many lanes as every host has members, by a tree or, if
// there are many chunks, in a row; then within each host.
Task<> hierarchical_broadcast(Transport& net, SharedGroup group, Rank root, Data data, Tag tag);

}  // namespace starling::collective
