#include "starling/collective/host_layout.h"

#include <algorithm>
#include <unordered_map>

namespace starling::collective {

HostLayout::HostLayout(const Group& group, const std::vector<int>& host_of_rank) {
  std::unordered_map<int, std::size_t> places;
  seats.reserve(group.size());
  for (const Rank rank : group) {
    const auto [found, is_new] =
        places.emplace(host_of_rank.at(static_cast<std::size_t>(rank)), hosts.size());
    if (is_new) hosts.emplace_back();
    const std::size_t host = found->second;
    together &= is_new || seats.back().host == host;
    seats.push_back({host, hosts[host].size()});
    hosts[host].push_back(rank);
  }
  smallest = seats.size();
  for (const Group& host : hosts) {
    smallest = std::min(smallest, host.size());
    largest = std::max(largest, host.size());
  }
}

}  // namespace starling::collective
