#include "starling/coordination/static_client.h"

#include <algorithm>
#include <utility>

namespace starling::coordination {

using runtime::Task;
using Verb = GroupMessage::Verb;

StaticClient::StaticClient(transport::Transport& net, const GroupOptions& setting)
    : GeneratorChannel(net, setting), setting_(setting) {
  add_schedule({});
}

// Makes the schedule for all but the workers that are lost by then.
void StaticClient::add_schedule(const ScheduleChange& change) {
  Group members;
  for (Rank rank = 0; rank < workers(); ++rank) {
    if (std::find(change.lost.begin(), change.lost.end(), rank) == change.lost.end()) members.push_back(rank);
  }
  const std::vector<int> hosts = hosts_of(workers(), setting_.host_of);
  schedules_.push_back({change.from, StaticGroups(members, hosts, setting_.rules.size)});
}

Group StaticClient::group_of(std::uint64_t round) const {
  const auto after = std::find_if(schedules_.begin(), schedules_.end(),
                                  [&](const Schedule& schedule) { return schedule.from > round; });
  return std::prev(after)->groups.group_of(round, rank());
}

Task<std::optional<GroupTurn>> StaticClient::next() {
  if (std::exchange(through_, false)) co_return std::nullopt;
  while (halted_ && !alone()) co_await news();
  ++round_;
  const Group group = group_of(round_);
  if (group.size() < 2 || any_lost(group)) co_return std::nullopt;
  co_return GroupTurn{group, round_, 0, 1};
}

Task<std::optional<GroupTurn>> StaticClient::next_before_leaving() { co_return std::nullopt; }

void StaticClient::handle(const GroupMessage& note) {
  if (note.verb == Verb::kCensus) {
    halted_ = true;
    GroupMessage state;
    state.verb = Verb::kState;
    state.count = round_;
    state.group.members = to_ranks(changes_);
    return tell(std::move(state));
  }
  changes_ = changes_from(note.group.members);
  schedules_.clear();
  add_schedule({});
  for (const ScheduleChange& change : changes_) add_schedule(change);
  halted_ = false;
}

}  // namespace starling::coordination
