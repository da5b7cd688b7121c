// A fixed schedule of groups, for workers of equal speed: a pure function of the round, which all ranks
// evaluate alike, so no messages are needed. In even rounds workers average inside their hosts, in odd ones
// across hosts; with one host, or one worker on each, all rounds are of one kind.
//
//   inside   each host's workers, all together, or in chunks of `group_size`
//   across   the i-th workers of all hosts together, or in chunks; one half of the i in one round, the other
//            half in the next, so that a host's link is not used by all its workers at once
//
// Chunks are cut at two positions in turn, half a chunk apart, so that they overlap. So over one cycle the
// graph of averaging workers is connected, for any number of hosts and workers on them: within a host because
// of the chunks, between hosts because each has a first worker. A chunk of one worker is not a group.
#pragma once

#include <cstdint>
#include <vector>

#include "starling/core/types.h"

namespace starling::coordination {

class StaticGroups {
 public:
  // `members` in ascending order; `host_of` by rank. A group size of 0 means no chunks; 1 is refused.
  StaticGroups(const Group& members, const std::vector<int>& host_of, std::size_t group_size);

  // Rounds after which the schedule begins again.
  static constexpr std::uint64_t kCycle = 8;

  // The group of a member, in ascending order; just itself if it is in none.
  Group group_of(std::uint64_t round, Rank rank) const;

 private:
  struct Position {
    std::size_t host = 0;
    std::size_t index = 0;  // on its host
  };

  Group chunk(const Group& all, std::size_t place, bool shifted) const;
  Group inside(const Position& place, bool shifted) const;
  Group across(const Position& place, std::uint64_t turn) const;
  const Position& place_of(Rank rank) const;

  std::vector<Group> hosts_;        // the members on each, in ascending order; none is empty
  std::vector<Position> place_of_;  // by rank
  std::vector<Rank> members_;
  std::size_t group_size_;
  std::size_t largest_host_ = 0;
};

}  // namespace starling::coordination
