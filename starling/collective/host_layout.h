// The hosts of a group's members, for algorithms that treat members of one host differently from others.
#pragma once

#include <cstddef>
#include <vector>

#include "starling/core/types.h"

namespace starling::collective {

struct HostLayout {
  struct Seat {
    std::size_t host = 0;   // its index in `hosts`
    std::size_t place = 0;  // within the host
  };

  HostLayout(const Group& group, const std::vector<int>& host_of_rank);

  std::vector<Group> hosts;  // and the members of each, in the order of the group
  std::vector<Seat> seats;   // by member
  std::size_t smallest = 0;  // members of a host
  std::size_t largest = 0;
  bool together = true;  // the members of each host are consecutive in the group

  // Several hosts, and several members on one of them.
  bool two_levels() const { return hosts.size() > 1 && hosts.size() < seats.size(); }
};

}  // namespace starling::collective
