#include "starling/coordination/topology.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include "starling/core/error.h"

namespace starling::coordination {
namespace {

constexpr std::string_view kFile = "file:";
constexpr std::array<std::pair<std::string_view, Graph (*)(int)>, 5> kBuilders = {
    {{"ring", ring_graph},
     {"torus", torus_graph},
     {"hypercube", hypercube_graph},
     {"exponential", exponential_graph},
     {"complete", complete_graph}}};

void check_size(int n) {
  if (n < 1) throw InvalidArgument(concat("a graph of ", n, " ranks; allowed: 1 or more"));
}

// Edges in ascending order; drops loops and duplicate edges, which arise in small graphs.
class Edges {
 public:
  void join(Rank a, Rank b) {
    if (a != b) edges_.insert({std::min(a, b), std::max(a, b)});
  }

  Graph graph(int n) const { return {n, {edges_.begin(), edges_.end()}}; }

 private:
  std::set<Edge> edges_;
};

// The edge of one line without its comment; `where` is file and line.
Edge read_edge(const std::string& line, const std::string& where, int n) {
  const std::vector<std::string> words = words_of(line);
  if (words.size() != 2) {
    throw InvalidArgument(
        concat(where, ": '", trim(line), "' is not an edge; allowed: two ranks, as in '0 1'"));
  }
  const auto first = static_cast<Rank>(parse_integer(words[0], where, 0, n - 1));
  const auto second = static_cast<Rank>(parse_integer(words[1], where, 0, n - 1));
  if (first == second) {
    throw InvalidArgument(concat(where, ": edge '", trim(line), "' joins rank ", first,
                                 " with itself; allowed: two different ranks"));
  }
  return {std::min(first, second), std::max(first, second)};
}

std::vector<Edge> read_edges(const std::string& path, int n) {
  std::ifstream file(path);
  if (!file) throw InvalidArgument(concat("graph file '", path, "' cannot be opened"));
  std::set<Edge> edges;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line.resize(std::min(line.size(), line.find('#')));
    if (trim(line).empty()) continue;
    const std::string where = concat(path, ":", number);
    if (!edges.insert(read_edge(line, where, n)).second) {
      throw InvalidArgument(concat(where, ": edge '", trim(line), "' was given before; allowed: once"));
    }
  }
  if (file.bad()) throw InvalidArgument(concat("graph file '", path, "' cannot be read"));
  return {edges.begin(), edges.end()};
}

}  // namespace

Graph::Graph(int n, const std::vector<Edge>& edges) {
  check_size(n);
  neighbours_.resize(static_cast<std::size_t>(n));
  for (const auto& [a, b] : edges) {
    if (a < 0 || a >= n || b < 0 || b >= n || a == b) {
      throw InvalidArgument(concat("edge ", a, " ", b, "; allowed: two different ranks from 0 to ", n - 1));
    }
    neighbours_[static_cast<std::size_t>(a)].push_back(b);
    neighbours_[static_cast<std::size_t>(b)].push_back(a);
  }
  for (Rank rank = 0; rank < n; ++rank) {
    Group& joined = neighbours_[static_cast<std::size_t>(rank)];
    std::sort(joined.begin(), joined.end());
    const auto twice = std::adjacent_find(joined.begin(), joined.end());
    if (twice == joined.end()) continue;
    throw InvalidArgument(concat("edge ", rank, " ", *twice, " was given twice; allowed: once"));
  }
}

const Group& Graph::neighbours(Rank rank) const {
  if (rank < 0 || rank >= size()) {
    throw InvalidArgument(concat("rank ", rank, " is not in the graph; allowed: 0 to ", size() - 1));
  }
  return neighbours_[static_cast<std::size_t>(rank)];
}

std::vector<Edge> Graph::edges() const {
  std::vector<Edge> edges;
  for (Rank a = 0; a < size(); ++a) {
    for (const Rank b : neighbours(a)) {
      if (a < b) edges.emplace_back(a, b);
    }
  }
  return edges;
}

Group Graph::unreached() const {
  std::vector<bool> seen(neighbours_.size());
  seen[0] = true;
  Group open = {0};
  while (!open.empty()) {
    const Rank rank = open.back();
    open.pop_back();
    for (const Rank next : neighbours(rank)) {
      if (seen[static_cast<std::size_t>(next)]) continue;
      seen[static_cast<std::size_t>(next)] = true;
      open.push_back(next);
    }
  }
  Group missing;
  for (Rank rank = 0; rank < size(); ++rank) {
    if (!seen[static_cast<std::size_t>(rank)]) missing.push_back(rank);
  }
  return missing;
}

Graph without_lost(const Graph& graph, const Group& lost) {
  std::vector<std::set<Rank>> joined;
  joined.reserve(static_cast<std::size_t>(graph.size()));
  for (Rank rank = 0; rank < graph.size(); ++rank) {
    joined.emplace_back(graph.neighbours(rank).begin(), graph.neighbours(rank).end());
  }
  const auto at = [&](Rank rank) -> std::set<Rank>& { return joined.at(static_cast<std::size_t>(rank)); };
  for (const Rank gone : std::set<Rank>(lost.begin(), lost.end())) {
    const std::set<Rank> around = std::exchange(at(gone), {});
    std::optional<Rank> before;
    for (const Rank rank : around) {
      at(rank).erase(gone);
      if (before) {
        at(rank).insert(*before);
        at(*before).insert(rank);
      }
      before = rank;
    }
  }
  Edges edges;
  for (Rank rank = 0; rank < graph.size(); ++rank) {
    for (const Rank other : at(rank)) edges.join(rank, other);
  }
  return edges.graph(graph.size());
}

Graph ring_graph(int n) {
  check_size(n);
  Edges edges;
  for (Rank rank = 0; rank < n; ++rank) edges.join(rank, (rank + 1) % n);
  return edges.graph(n);
}

Graph torus_graph(int n) {
  check_size(n);
  int rows = 1;
  for (int side = 2; side <= n / side; ++side) {
    if (n % side == 0) rows = side;
  }
  const int columns = n / rows;
  Edges edges;
  for (Rank rank = 0; rank < n; ++rank) {
    const int row = rank / columns, column = rank % columns;
    edges.join(rank, row * columns + (column + 1) % columns);
    edges.join(rank, (row + 1) % rows * columns + column);
  }
  return edges.graph(n);
}

Graph hypercube_graph(int n) {
  if (n < 1 || !std::has_single_bit(static_cast<unsigned>(n))) {
    throw InvalidArgument(concat("a hypercube of ", n, " ranks; allowed: a power of two (1, 2, 4, 8, ...)"));
  }
  Edges edges;
  for (Rank rank = 0; rank < n; ++rank) {
    for (unsigned bit = 1; bit < static_cast<unsigned>(n); bit *= 2) {
      edges.join(rank, static_cast<Rank>(static_cast<unsigned>(rank) ^ bit));
    }
  }
  return edges.graph(n);
}

Graph exponential_graph(int n) {
  check_size(n);
  Edges edges;
  for (Rank rank = 0; rank < n; ++rank) {
    for (long long hop = 1; hop < n; hop *= 2) edges.join(rank, static_cast<Rank>((rank + hop) % n));
  }
  return edges.graph(n);
}

// An odd hop joins an even rank with an odd one unless it goes around the end of an odd number of ranks. The
// hops of 1 that do not are enough to connect all ranks.
Graph bipartite_exponential_graph(int n) {
  check_size(n);
  Edges edges;
  for (Rank rank = 0; rank < n; ++rank) {
    for (long long power = 1, hop = 1; hop < n; power *= 2, hop = power + 1) {
      const auto other = static_cast<Rank>((rank + hop) % n);
      if (rank % 2 != other % 2) edges.join(rank, other);
    }
  }
  return edges.graph(n);
}

Graph complete_graph(int n) {
  check_size(n);
  Edges edges;
  for (Rank a = 0; a < n; ++a) {
    for (Rank b = a + 1; b < n; ++b) edges.join(a, b);
  }
  return edges.graph(n);
}

Graph read_graph(const std::string& path, int n) {
  check_size(n);
  Graph graph(n, read_edges(path, n));
  if (const Group missing = graph.unreached(); !missing.empty()) {
    throw InvalidArgument(concat(path, ": no path from rank 0 to rank ", missing.front(), " (cut off: ",
                                 missing.size(), " of ", n, " ranks); allowed: connected graphs"));
  }
  return graph;
}

Graph make_graph(std::string_view name, int n) {
  if (name.starts_with(kFile)) return read_graph(std::string(name.substr(kFile.size())), n);
  std::vector<std::string_view> names;
  for (const auto& [known, build] : kBuilders) {
    if (known == name) return build(n);
    names.push_back(known);
  }
  throw InvalidArgument(concat("unknown graph '", name, "'; allowed: ", join_texts(names), ", file:PATH"));
}

}  // namespace starling::coordination
