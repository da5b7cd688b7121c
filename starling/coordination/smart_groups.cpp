#include "starling/coordination/smart_groups.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "starling/core/partition.h"

namespace starling::coordination {

GroupPolicy::Decision SmartGroups::asked(const WorkerRoster& roster, Rank who, Time now) {
  Decision decision;
  if (!roster.idle.has(who)) return decision;
  const Group members = candidates(roster, who, now);
  if (members.size() < 2) {
    decision.alone = {who};
    return decision;
  }
  ++divisions_;
  const auto elsewhere = [&](Rank rank) { return roster.host(rank) != roster.host(who); };
  if (rules_.by_host && std::any_of(members.begin(), members.end(), elsewhere)) {
    divide_by_host(roster, members, decision.groups);
  } else {
    divide(members, decision.groups);
  }
  return decision;
}

bool SmartGroups::falls_behind(const WorkerRoster& roster, Rank rank, Rank who) const {
  return roster.count(who) >= roster.count(rank) + rules_.threshold;
}

bool SmartGroups::comes_soon(const WorkerRoster& roster, Rank rank, Rank who, Time now) const {
  const WorkerRoster::Training& training = roster.training(rank);
  const double own = seconds_of(roster.training(who).section);
  if (rules_.lateness == 0 || own == 0 || training.section == Duration(0)) return true;
  const double lateness = divisions_ % kWide == kWide - 1 ? std::max(rules_.lateness, 1.0) : rules_.lateness;
  return std::abs(seconds_of(training.since + training.section - now)) <= lateness * own;
}

Group SmartGroups::candidates(const WorkerRoster& roster, Rank who, Time now) const {
  Group members;
  for (const Rank rank : roster.idle.ranks()) {
    const bool invited = !falls_behind(roster, rank, who) && comes_soon(roster, rank, who, now);
    if (rank == who || invited) members.push_back(rank);
  }
  std::sort(members.begin(), members.end());
  return members;
}

// At least two members.
void SmartGroups::divide(Group members, std::vector<Planned>& groups) {
  random_.shuffle(members);
  const std::size_t parts = std::max<std::size_t>(1, members.size() / rules_.size);
  for (std::size_t i = 0; i < parts; ++i) {
    const Slice slice = slice_of(members.size(), parts, i);
    Group group(members.begin() + static_cast<std::ptrdiff_t>(slice.begin),
                members.begin() + static_cast<std::ptrdiff_t>(slice.end));
    std::sort(group.begin(), group.end());
    groups.push_back({std::move(group), {}});
  }
}

void SmartGroups::divide_by_host(const WorkerRoster& roster, const Group& members,
                                 std::vector<Planned>& groups) {
  std::map<int, Group> hosts;
  for (const Rank rank : members) hosts[roster.host(rank)].push_back(rank);
  Group heads;
  for (const auto& [host, here] : hosts) {
    heads.push_back(here[(divisions_ + static_cast<std::uint64_t>(host)) % here.size()]);
  }
  divide(std::move(heads), groups);
  for (auto& [host, here] : hosts) {
    if (here.size() > 1) groups.push_back({std::move(here), {}});
  }
}

}  // namespace starling::coordination
