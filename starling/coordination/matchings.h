// A graph as disjoint matchings: sets of links without a common rank, so that each rank has at most one
// partner in a matching. The same as a colouring of the edges.
//
// Some rank has Delta links, so Delta matchings are the least possible, and Delta + 1 always suffice
// (Vizing's theorem). Delta are found for every bipartite graph (Koenig), and in practice for nearly all
// others that allow it: links are coloured one after the other, and where no colour is free at both ends, an
// alternating chain of two colours is swapped. Where that fails too, which bipartite graphs exclude, the link
// takes the colour of another one, drawn at random, which is coloured again. When that has gone on for too
// long in two orders of the links, Misra and Gries, "A constructive proof of Vizing's theorem" (1992), give
// Delta + 1.
//
// In the first order links between ranks whose numbers are near come first. So in graphs such as the
// exponential one, links of the same length come into the same matchings, and lengths can be used more or
// less often (activation.h).
#pragma once

#include <vector>

#include "starling/coordination/topology.h"

namespace starling::coordination {

// The lower rank of an edge first, the edges in ascending order.
using Matching = std::vector<Edge>;

// Every edge of the graph is in one of them. None is empty, and the same graph gives the same matchings.
std::vector<Matching> disjoint_matchings(const Graph& graph);

}  // namespace starling::coordination
