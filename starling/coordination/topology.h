// The graphs of ranks that average with neighbours instead of with all.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/core/types.h"

namespace starling::coordination {

using Edge = std::pair<Rank, Rank>;

// An undirected graph of the ranks 0 to n-1, without loops and double edges. Does not change.
class Graph {
 public:
  // Throws InvalidArgument for n < 1, a rank outside of [0, n), a loop, or an edge given twice in any
  // direction.
  Graph(int n, const std::vector<Edge>& edges);

  int size() const { return static_cast<int>(neighbours_.size()); }

  // In ascending order.
  const Group& neighbours(Rank rank) const;

  int degree(Rank rank) const { return static_cast<int>(neighbours(rank).size()); }

  // The lower rank first, in ascending order.
  std::vector<Edge> edges() const;

  // The ranks to which no path leads from rank 0, in ascending order.
  Group unreached() const;

  bool connected() const { return unreached().empty(); }

  friend bool operator==(const Graph&, const Graph&) = default;

 private:
  std::vector<Group> neighbours_;
};

// The graph closes over the ranks that are lost: the neighbours of each become a path in ascending order, and
// it keeps no edge. What was connected stays so; a ring becomes a shorter ring. The same for the same ranks,
// however they were lost.
Graph without_lost(const Graph& graph, const Group& lost);

// One edge for two ranks, none for one.
Graph ring_graph(int n);

// Rows and columns that close to rings; among the ways to write n as rows times columns the most square one.
// Two ranks are joined by one edge only, and a prime n gives a ring.
Graph torus_graph(int n);

// Joins the ranks whose numbers differ in one bit; n must be a power of two.
Graph hypercube_graph(int n);

// Joins rank i with i ± 2^k modulo n, for all 2^k below n.
Graph exponential_graph(int n);

// Joins ranks of which one is even and one odd, at distances 1, 3, 5, 9, ..., 2^k + 1 below n, modulo n:
// every edge has an end among the even ranks and an end among the odd ones.
Graph bipartite_exponential_graph(int n);

Graph complete_graph(int n);

// One edge "a b" per line; text after a '#' and blank lines are skipped. Throws InvalidArgument naming file
// and line; also for a graph that is not connected.
Graph read_graph(const std::string& path, int n);

// "ring", "torus", "hypercube", "exponential", "complete" or "file:PATH".
Graph make_graph(std::string_view name, int n);

}  // namespace starling::coordination
