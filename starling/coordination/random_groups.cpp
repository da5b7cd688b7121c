#include "starling/coordination/random_groups.h"

#include <algorithm>

namespace starling::coordination {

GroupPolicy::Decision RandomGroups::asked(const WorkerRoster& roster, Rank who, Time) {
  const Group& present = roster.present.ranks();
  const std::size_t size = std::min(size_, present.size());
  if (size < 2) return {.groups = {}, .alone = {who}, .again = {}};
  Group members{who};
  while (members.size() < size) {
    const Rank other = present[static_cast<std::size_t>(random_.below(present.size()))];
    if (std::find(members.begin(), members.end(), other) == members.end()) members.push_back(other);
  }
  std::sort(members.begin(), members.end());
  return {.groups = {{std::move(members), {}}}, .alone = {}, .again = {}};
}

}  // namespace starling::coordination
