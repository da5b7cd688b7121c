#include "starling/coordination/static_groups.h"

#include <algorithm>
#include <map>

#include "starling/core/error.h"

namespace starling::coordination {

StaticGroups::StaticGroups(const Group& members, const std::vector<int>& host_of, std::size_t group_size)
    : members_(members), group_size_(group_size) {
  if (group_size == 1) throw InvalidArgument("a group size of 1 averages nothing; allowed: 0 or at least 2");
  std::map<int, std::size_t> number;  // of a host, in the order of its first member
  for (const Rank rank : members) {
    const int host = host_of.at(static_cast<std::size_t>(rank));
    const auto [found, added] = number.emplace(host, hosts_.size());
    if (added) hosts_.emplace_back();
    Group& here = hosts_[found->second];
    place_of_.resize(std::max(place_of_.size(), static_cast<std::size_t>(rank) + 1));
    place_of_[static_cast<std::size_t>(rank)] = {found->second, here.size()};
    here.push_back(rank);
    largest_host_ = std::max(largest_host_, here.size());
  }
}

const StaticGroups::Position& StaticGroups::place_of(Rank rank) const {
  if (!std::binary_search(members_.begin(), members_.end(), rank)) {
    throw InvalidArgument(concat("rank ", rank, " has no groups; members are ", join_texts(members_)));
  }
  return place_of_[static_cast<std::size_t>(rank)];
}

Group StaticGroups::group_of(std::uint64_t round, Rank rank) const {
  const Position& place = place_of(rank);
  if (hosts_.size() == 1) return inside(place, round % 2 == 1);
  if (largest_host_ == 1) return across(place, 2 * round);
  if (round % 2 == 0) return inside(place, round / 2 % 2 == 1);
  return across(place, round / 2);
}

Group StaticGroups::inside(const Position& place, bool shifted) const {
  return chunk(hosts_[place.host], place.index, shifted);
}

// Turns: the lower half, the upper half, then both again with the chunks cut elsewhere.
Group StaticGroups::across(const Position& place, std::uint64_t turn) const {
  const std::size_t half = (largest_host_ + 1) / 2;
  const bool upper = place.index >= half;
  const Rank rank = hosts_[place.host][place.index];
  if (largest_host_ > 1 && upper != (turn % 2 == 1)) return {rank};
  Group all;
  std::size_t own = 0;
  for (const Group& host : hosts_) {
    if (host.size() <= place.index) continue;
    if (host[place.index] == rank) own = all.size();
    all.push_back(host[place.index]);
  }
  Group group = chunk(all, own, turn / 2 % 2 == 1);
  std::sort(group.begin(), group.end());
  return group;
}

Group StaticGroups::chunk(const Group& all, std::size_t place, bool shifted) const {
  if (group_size_ == 0 || group_size_ >= all.size()) return all;
  const std::size_t shift = shifted ? group_size_ / 2 : 0;
  const std::size_t begin = place < shift ? 0 : (place - shift) / group_size_ * group_size_ + shift;
  const std::size_t end = place < shift ? shift : std::min(all.size(), begin + group_size_);
  return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace starling::coordination
