#include "starling/coordination/ready_groups.h"

#include <algorithm>
#include <utility>

namespace starling::coordination {

GroupPolicy::Decision ReadyGroups::asked(const WorkerRoster& roster, Rank who, Time now) {
  if (waiting_.empty()) closes_ = now + rules_.window;
  const bool first = waiting_.empty();
  waiting_.push_back(who);
  see(who);
  Decision decision = look(roster, now);
  if (first && !waiting_.empty()) decision.again = closes_;
  return decision;
}

GroupPolicy::Decision ReadyGroups::look(const WorkerRoster& roster, Time now) {
  Decision decision;
  while (due(roster, now)) close(roster, decision);
  return decision;
}

void ReadyGroups::gone(Rank who) {
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), who), waiting_.end());
  if (parent_.count(who) > 0 && away_.insert(who).second) grow(flock_of(who), -1);
}

bool ReadyGroups::due(const WorkerRoster& roster, Time now) {
  if (waiting_.empty()) return false;
  const bool all_there = waiting_.size() >= std::min(rules_.size, roster.present.ranks().size());
  if (!all_there && now < closes_) return false;
  return !long_enough(roster) || !isolated();
}

// This many groups could have connected all workers twice.
bool ReadyGroups::long_enough(const WorkerRoster& roster) const {
  return rounds_ * (rules_.size - 1) >= 2 * (roster.present.ranks().size() - 1);
}

// Whether the waiting workers belong to one flock, and another flock is larger.
bool ReadyGroups::isolated() {
  if (size_.size() < 2) return false;
  const Rank flock = flock_of(waiting_.front());
  const auto elsewhere = [&](Rank rank) { return flock_of(rank) != flock; };
  return flock != largest_flock() && std::none_of(waiting_.begin(), waiting_.end(), elsewhere);
}

// If more than k are waiting, because they had to wait for a worker from outside, the last to come is that
// one.
Group ReadyGroups::take_waiting() {
  if (waiting_.size() <= rules_.size) return std::exchange(waiting_, {});
  const auto first = waiting_.begin(), behind = first + static_cast<std::ptrdiff_t>(rules_.size - 1);
  Group members(first, behind);
  members.push_back(waiting_.back());
  waiting_.pop_back();
  waiting_.erase(first, behind);
  return members;
}

void ReadyGroups::close(const WorkerRoster& roster, Decision& decision) {
  ++rounds_;
  Group members = take_waiting();
  if (members.size() == 1) {
    decision.alone.push_back(members.front());
  } else {
    for (const Rank rank : members) unite(members.front(), rank);
    std::sort(members.begin(), members.end());
    std::vector<double> weights = this->weights(roster, members);
    decision.groups.push_back({std::move(members), std::move(weights)});
  }
  end_period_if_connected(roster);
}

void ReadyGroups::end_period_if_connected(const WorkerRoster& roster) {
  if (!long_enough(roster) || size_.size() > 1) return;
  rounds_ = 0;
  parent_.clear();
  away_.clear();
  size_.clear();
  for (const Rank rank : waiting_) see(rank);
}

void ReadyGroups::see(Rank rank) {
  const bool known = !parent_.emplace(rank, rank).second;
  if (!known || away_.erase(rank) > 0) grow(flock_of(rank), 1);
}

void ReadyGroups::grow(Rank flock, std::ptrdiff_t members) {
  if (members == 0) return;
  std::ptrdiff_t& size = size_[flock];
  size += members;
  if (size == 0) size_.erase(flock);
}

std::vector<double> ReadyGroups::weights(const WorkerRoster& roster, const Group& members) const {
  if (!rules_.weigh_staleness) return {};
  std::uint64_t first = 0;
  for (const Rank rank : members) first = std::max(first, roster.count(rank));
  std::vector<double> weights;
  for (const Rank rank : members)
    weights.push_back(1 / (1 + static_cast<double>(first - roster.count(rank))));
  return weights;
}

Rank ReadyGroups::flock_of(Rank rank) {
  Rank root = rank;
  while (parent_.at(root) != root) root = parent_.at(root);
  while (parent_.at(rank) != root) rank = std::exchange(parent_.at(rank), root);
  return root;
}

void ReadyGroups::unite(Rank a, Rank b) {
  const Rank into = flock_of(a), from = flock_of(b);
  if (into == from) return;
  parent_[from] = into;
  const auto joined = size_.find(from);
  if (joined == size_.end()) return;
  grow(into, joined->second);
  size_.erase(from);
}

// The lowest number wins a tie.
Rank ReadyGroups::largest_flock() const {
  return std::max_element(size_.begin(), size_.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace starling::coordination
