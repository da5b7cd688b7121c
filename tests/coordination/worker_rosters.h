// Rolls for tests of the policies.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "starling/coordination/group_policy.h"

namespace starling::coordination {

// A roster in which all workers are present and idle.
inline WorkerRoster roll_of(std::vector<int> host_of) {
  WorkerRoster roster(std::move(host_of));
  for (Rank rank = 0; rank < static_cast<Rank>(roster.host_of.size()); ++rank) {
    roster.present.insert(rank);
    roster.idle.insert(rank);
  }
  return roster;
}

inline WorkerRoster roll_of(int workers) {
  return roll_of(std::vector<int>(static_cast<std::size_t>(workers)));
}

inline std::vector<Group> groups_of(const GroupPolicy::Decision& decision) {
  std::vector<Group> groups;
  for (const GroupPolicy::Planned& planned : decision.groups) groups.push_back(planned.members);
  return groups;
}

inline bool has(const Group& group, Rank rank) {
  return std::find(group.begin(), group.end(), rank) != group.end();
}

inline Time at_ms(int ms) { return Time(std::chrono::milliseconds(ms)); }

}  // namespace starling::coordination
