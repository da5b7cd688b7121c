// Which simulated ranks hear each other, and what those that do not make of it.
//
// A host may be cut off: hosts that are cut off at a time reach each other, and no other host. A rank may
// stand still: nobody hears it, not even on its own host. Messages wait meanwhile. Ranks of different hosts
// that have not heard each other for the silence limit miss each other; what follows is the membership's
// business. A rank that stands still misses nobody.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "starling/core/types.h"
#include "starling/runtime/scope.h"
#include "starling/runtime/task.h"
#include "starling/transport/inproc.h"

namespace starling::sim {

class Reachability {
 public:
  // All references must outlive it; tasks that watch the silence go into the scope.
  Reachability(transport::InprocWorld& world, const std::vector<int>& host_of_rank, Duration silence_limit,
               runtime::Scope& scope);

  // As often as they are cut, hosts have to be healed; likewise stop() and go_on().
  void cut(int host);
  void heal(int host);

  void stop(Rank rank);
  void go_on(Rank rank);
  bool stopped(Rank rank) const { return stops_.count(rank) != 0; }

 private:
  using Pair = std::pair<Rank, Rank>;  // the lower one first

  struct Gap {
    int causes = 0;
    std::uint64_t count = 0;  // of the changes
  };

  int host_of(Rank rank) const { return host_of_rank_[static_cast<std::size_t>(rank)]; }
  void change_sides(int host);
  void part(Rank a, Rank b);
  void reunite(Rank a, Rank b);
  void begin_silence(const Pair& pair);
  runtime::Task<> watch_silence(Pair pair, std::uint64_t count);

  transport::InprocWorld& world_;
  const std::vector<int>& host_of_rank_;
  Duration silence_limit_;
  runtime::Scope& scope_;
  std::map<int, int> cut_off_;  // by host, how many times
  std::multiset<Rank> stops_;
  std::map<Pair, Gap> gaps_;
};

}  // namespace starling::sim
