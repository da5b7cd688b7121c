#include "starling/coordination/matchings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "starling/core/random.h"

namespace starling::coordination {
namespace {

constexpr Rank kNoPartner = -1;
// The same in all runs, so that all workers have the same matchings.
constexpr std::uint64_t kRecolouringSeed = 0x6d61746368;

// Colours of edges, of which no two with a common rank are equal.
class EdgeColours {
 public:
  EdgeColours(int ranks, int colours)
      : partners_(static_cast<std::size_t>(ranks), std::vector<Rank>(static_cast<std::size_t>(colours))) {
    for (std::vector<Rank>& partners : partners_) std::ranges::fill(partners, kNoPartner);
  }

  std::size_t count() const { return partners_.front().size(); }

  Rank partner(Rank rank, std::size_t colour) const { return at(rank)[colour]; }
  bool free(Rank rank, std::size_t colour) const { return partner(rank, colour) == kNoPartner; }

  std::vector<std::size_t> free_colours(Rank rank) const {
    std::vector<std::size_t> found;
    for (std::size_t colour = 0; colour < count(); ++colour) {
      if (free(rank, colour)) found.push_back(colour);
    }
    return found;
  }

  void set(Rank a, Rank b, std::size_t colour) {
    at(a)[colour] = b;
    at(b)[colour] = a;
  }

  void clear(Rank a, Rank b, std::size_t colour) {
    at(a)[colour] = kNoPartner;
    at(b)[colour] = kNoPartner;
  }

  // The last rank of the chain whose edges have the colours `first`, `second`, `first`, ... from `rank` on,
  // where `second` is free.
  Rank end_of_chain(Rank rank, std::size_t first, std::size_t second) const {
    while (!free(rank, first)) {
      rank = partner(rank, first);
      std::swap(first, second);
    }
    return rank;
  }

  // Swaps the colours of that chain, after which `first` is free at `rank`.
  void swap_chain(Rank rank, std::size_t first, std::size_t second) {
    std::vector<Rank> chain{rank};
    for (std::size_t colour = first; !free(chain.back(), colour); colour = colour == first ? second : first) {
      chain.push_back(partner(chain.back(), colour));
    }
    for (std::size_t i = 0; i + 1 < chain.size(); ++i)
      clear(chain[i], chain[i + 1], i % 2 == 0 ? first : second);
    for (std::size_t i = 0; i + 1 < chain.size(); ++i)
      set(chain[i], chain[i + 1], i % 2 == 0 ? second : first);
  }

  std::vector<Matching> matchings() const {
    std::vector<Matching> matchings(count());
    for (Rank rank = 0; rank < static_cast<Rank>(partners_.size()); ++rank) {
      for (std::size_t colour = 0; colour < matchings.size(); ++colour) {
        if (partner(rank, colour) > rank) matchings[colour].emplace_back(rank, partner(rank, colour));
      }
    }
    std::erase_if(matchings, [](const Matching& matching) { return matching.empty(); });
    return matchings;
  }

 private:
  std::vector<Rank>& at(Rank rank) { return partners_[static_cast<std::size_t>(rank)]; }
  const std::vector<Rank>& at(Rank rank) const { return partners_[static_cast<std::size_t>(rank)]; }

  std::vector<std::vector<Rank>> partners_;  // by rank and colour
};

int largest_degree(const Graph& graph) {
  int largest = 0;
  for (Rank rank = 0; rank < graph.size(); ++rank) largest = std::max(largest, graph.degree(rank));
  return largest;
}

// Ordered by the distance of their ranks around a ring of all.
std::vector<Edge> near_edges_first(const Graph& graph) {
  std::vector<Edge> edges = graph.edges();
  std::ranges::stable_sort(edges, {}, [&](const Edge& edge) {
    const int distance = edge.second - edge.first;
    return std::min(distance, graph.size() - distance);
  });
  return edges;
}

// Whether there are more edges than so many matchings can hold, such as in a ring of odd length.
bool overfull(const Graph& graph, int colours) {
  std::size_t ends = 0, linked = 0;
  for (Rank rank = 0; rank < graph.size(); ++rank) {
    ends += graph.neighbours(rank).size();
    if (graph.degree(rank) > 0) ++linked;
  }
  return ends / 2 > linked / 2 * static_cast<std::size_t>(colours);
}

// Gives the edge a colour if one is free at both ends, or becomes so when a chain is swapped. The chain that
// leaves b must not end at a: then the colour that becomes free at b would be taken at a.
bool colour_by_chain(EdgeColours& colours, const Edge& edge) {
  const auto [a, b] = edge;
  const std::vector<std::size_t> free_at_a = colours.free_colours(a), free_at_b = colours.free_colours(b);
  for (const std::size_t colour : free_at_a) {
    if (!colours.free(b, colour)) continue;
    colours.set(a, b, colour);
    return true;
  }
  for (const std::size_t first : free_at_a) {
    for (const std::size_t second : free_at_b) {
      if (colours.end_of_chain(b, first, second) == a) continue;
      colours.swap_chain(b, first, second);
      colours.set(a, b, first);
      return true;
    }
  }
  return false;
}

// None if not all edges, in this order, got one of so many colours.
std::optional<EdgeColours> coloured_by_chains(const std::vector<Edge>& edges, int ranks, int count) {
  EdgeColours colours(ranks, count);
  Random random(kRecolouringSeed);
  std::size_t recoloured = 0;
  for (Edge edge : edges) {
    while (!colour_by_chain(colours, edge)) {
      if (++recoloured > 20 * edges.size()) return {};
      if (random.chance(0.5)) std::swap(edge.first, edge.second);
      const std::vector<std::size_t> free = colours.free_colours(edge.first);
      const std::size_t colour = free[random.below(free.size())];
      const Rank other = colours.partner(edge.second, colour);
      colours.clear(edge.second, other, colour);
      colours.set(edge.first, edge.second, colour);
      edge = {edge.second, other};
    }
  }
  return colours;
}

// Misra and Gries: a fan of `hub` is a list of its neighbours in which the colour of the link to each is free
// at the one before it.
class FanColouring {
 public:
  explicit FanColouring(const Graph& graph)
      : graph_(graph), colours_(graph.size(), largest_degree(graph) + 1) {
    for (const auto& [a, b] : near_edges_first(graph)) colour(a, b);
  }

  const EdgeColours& colours() const { return colours_; }

 private:
  std::optional<std::size_t> colour_of(Rank a, Rank b) const {
    for (std::size_t colour = 0; colour < colours_.count(); ++colour) {
      if (colours_.partner(a, colour) == b) return colour;
    }
    return {};
  }

  // The longest fan that begins with the link to `first`, which has no colour yet.
  Group fan_from(Rank hub, Rank first) const {
    Group fan{first};
    for (bool longer = true; longer;) {
      longer = false;
      for (const Rank next : graph_.neighbours(hub)) {
        const std::optional<std::size_t> colour = colour_of(hub, next);
        if (!colour || std::ranges::find(fan, next) != fan.end()) continue;
        if (!colours_.free(fan.back(), *colour)) continue;
        fan.push_back(next);
        longer = true;
      }
    }
    return fan;
  }

  // How many ranks at the beginning of the fan are a fan and end where the colour is free.
  std::size_t usable(Rank hub, const Group& fan, std::size_t colour) const {
    for (std::size_t i = 0; i < fan.size(); ++i) {
      if (i > 0 && !colours_.free(fan[i - 1], *colour_of(hub, fan[i]))) return 0;
      if (colours_.free(fan[i], colour)) return i + 1;
    }
    return 0;
  }

  void colour(Rank hub, Rank first) {
    const Group fan = fan_from(hub, first);
    const std::size_t at_hub = colours_.free_colours(hub).front();
    const std::size_t at_end = colours_.free_colours(fan.back()).front();
    if (!colours_.free(hub, at_end)) colours_.swap_chain(hub, at_end, at_hub);
    const std::size_t count = usable(hub, fan, at_end);
    for (std::size_t i = 0; i + 1 < count; ++i) {  // every link takes the colour of the next
      const std::size_t moved = *colour_of(hub, fan[i + 1]);
      colours_.clear(hub, fan[i + 1], moved);
      colours_.set(hub, fan[i], moved);
    }
    colours_.set(hub, fan[count - 1], at_end);
  }

  const Graph& graph_;
  EdgeColours colours_;
};

}  // namespace

std::vector<Matching> disjoint_matchings(const Graph& graph) {
  const int least = largest_degree(graph);
  if (least == 0) return {};
  if (!overfull(graph, least)) {
    for (const std::vector<Edge>& edges : {near_edges_first(graph), graph.edges()}) {
      const auto colours = coloured_by_chains(edges, graph.size(), least);
      if (colours) return colours->matchings();
    }
  }
  return FanColouring(graph).colours().matchings();
}

}  // namespace starling::coordination
