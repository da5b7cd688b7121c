#include "starling/coordination/group_table.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace starling::coordination {

GroupTable::GroupTable(std::vector<int> host_of, std::unique_ptr<GroupPolicy> policy, bool calls)
    : roster_(std::move(host_of)), policy_(std::move(policy)), calls_(calls), desks_(roster_.host_of.size()) {
  for (Rank worker = 0; worker < static_cast<Rank>(desks_.size()); ++worker) {
    roster_.present.insert(worker);
    roster_.idle.insert(worker);
  }
}

GroupTable::Answers GroupTable::ask(Rank worker, const GroupMessage& note, Time now) {
  ++tally_.requests;
  Answers answers;
  open(worker, note.finished, now);
  roster_.present.insert(worker);
  if (desk(worker).groups.empty()) roster_.idle.insert(worker);
  std::uint64_t& known = roster_.counts[static_cast<std::size_t>(worker)];
  if (note.count > known) {
    known = note.count;
    roster_.trainings[static_cast<std::size_t>(worker)].section = note.section;
    synchronise(worker, answers);
  } else {
    answer(worker, answers);
  }
  return answers;
}

GroupTable::Answers GroupTable::leave(Rank worker, const GroupMessage& note, Time now) {
  Answers answers;
  open(worker, note.finished, now);
  if (roster_.present.has(worker)) {
    remove(worker);
    carry_out(policy_->look(roster_, now), answers);
  }
  answer(worker, answers);
  return answers;
}

void GroupTable::done(const IssuedGroup& group, Time now) {
  now_ = now;
  for (const Rank member : group.members) finish(member, group.number);
}

GroupTable::Answers GroupTable::look(Time now) {
  now_ = now;
  due_.reset();
  Answers answers;
  carry_out(policy_->look(roster_, now), answers);
  return answers;
}

void GroupTable::open(Rank worker, std::uint64_t finished, Time now) {
  now_ = now;
  finish(worker, finished);
  desk(worker).asking = true;
  desk(worker).asked = now;
}

// A new synchronisation takes the groups up to the one that the worker gets now; if it gets none because it
// has some already, those of the decision that brought it the first of them.
void GroupTable::synchronise(Rank worker, Answers& answers) {
  carry_out(policy_->asked(roster_, worker, now_), answers);
  Desk& desk = this->desk(worker);
  if (!desk.asking || desk.groups.empty()) return;
  for (const Entry& entry : desk.groups) {
    if (entry.group->round == desk.groups.front().group->round) desk.until = last_if(entry);
  }
  answer(worker, answers);
}

std::uint64_t GroupTable::last_if(const Entry& entry) const {
  return policy_->drains() ? std::numeric_limits<std::uint64_t>::max() : entry.group->number;
}

// Groups are run in order: a worker that has finished one has finished those before.
void GroupTable::finish(Rank worker, std::uint64_t number) {
  std::deque<Entry>& groups = desk(worker).groups;
  while (!groups.empty() && groups.front().group->number <= number) groups.pop_front();
  if (!groups.empty() || !roster_.present.has(worker) || roster_.idle.has(worker)) return;
  roster_.idle.insert(worker);
  trains(worker);
}

void GroupTable::trains(Rank worker) { roster_.trainings[static_cast<std::size_t>(worker)].since = now_; }

void GroupTable::remove(Rank worker) {
  roster_.present.erase(worker);
  roster_.idle.erase(worker);
  policy_->gone(worker);
}

void GroupTable::add(const SharedGroup& group, Rank member, double weight) {
  desk(member).groups.push_back({group, weight});
  roster_.idle.erase(member);
}

void GroupTable::carry_out(const GroupPolicy::Decision& decision, Answers& answers) {
  const std::uint64_t round = next_number_;
  for (const GroupPolicy::Planned& planned : decision.groups) {
    ++tally_.groups;
    tally_.members += planned.members.size();
    const auto group =
        std::make_shared<const IssuedGroup>(IssuedGroup{next_number_++, 0, round, planned.members});
    for (std::size_t i = 0; i < planned.members.size(); ++i) {
      add(group, planned.members[i], planned.weights.empty() ? 1 : planned.weights[i]);
    }
  }
  for (const GroupPolicy::Planned& planned : decision.groups) {
    for (const Rank member : planned.members) {
      if (!desk(member).asking) {
        call(member, answers);
        continue;
      }
      desk(member).until = last_if(desk(member).groups.back());
      answer(member, answers);
    }
  }
  for (const Rank worker : decision.alone) go_on_alone(worker, answers);
  if (decision.again) due_ = decision.again;
}

// A worker that leaves gets no more than the groups it is in. A worker in the middle of a synchronisation
// gets no further groups if they are gone with a lost member.
void GroupTable::answer(Rank worker, Answers& answers) {
  Desk& desk = this->desk(worker);
  if (desk.groups.empty()) return go_on_alone(worker, answers);
  const Entry& next = desk.groups.front();
  desk.asking = false;
  answers.push_back({.to = worker,
                     .group = *next.group,
                     .last = next.group->number >= desk.until,
                     .weight = next.weight,
                     .asked = desk.asked});
}

// One that is about to run the group, because it has just been answered, is called in vain.
void GroupTable::call(Rank worker, Answers& answers) {
  const Desk& desk = this->desk(worker);
  if (!calls_ || desk.asking || desk.groups.empty()) return;
  answers.push_back({.to = worker, .group = *desk.groups.back().group, .call = true, .asked = now_});
}

void GroupTable::go_on_alone(Rank worker, Answers& answers) {
  desk(worker).asking = false;
  trains(worker);
  answers.push_back({.to = worker, .group = {}, .last = true, .weight = 1, .asked = desk(worker).asked});
}

GroupTable::Answers GroupTable::restore(const States& states, Time now) {
  now_ = now;
  for (Rank worker = 0; worker < static_cast<Rank>(states.size()); ++worker) {
    const auto& state = states[static_cast<std::size_t>(worker)];
    if (!state || state->leaves) remove(worker);
    if (!state) continue;
    roster_.counts[static_cast<std::size_t>(worker)] = state->count;
    next_number_ = std::max({next_number_, state->finished + 1, state->group.number + 1});
  }
  restore_groups(states);
  Answers answers;
  for (Rank worker = 0; worker < static_cast<Rank>(states.size()); ++worker) {
    const auto& state = states[static_cast<std::size_t>(worker)];
    if (!state || !state->asks) continue;
    desk(worker).asking = true;
    desk(worker).asked = now;
  }
  for (Rank worker = 0; worker < static_cast<Rank>(states.size()); ++worker) {
    if (!desk(worker).asking) {  // including workers that were answered meanwhile
      call(worker, answers);
      continue;
    }
    if (roster_.present.has(worker) && desk(worker).groups.empty()) {
      synchronise(worker, answers);
    } else {
      desk(worker).until = 0;
      answer(worker, answers);
    }
  }
  return answers;
}

// If a group was issued twice, the last issue counts. A group that has lost a member is issued again to the
// members that have not finished it; its members have reported it and will ask.
void GroupTable::restore_groups(const States& states) {
  std::map<std::uint64_t, IssuedGroup> known;
  for (const auto& state : states) {
    if (!state || state->group.number == 0) continue;
    IssuedGroup& group = known[state->group.number];
    if (group.number == 0 || group.issue < state->group.issue) group = state->group;
  }
  const auto living = [&](Rank rank) { return states[static_cast<std::size_t>(rank)].has_value(); };
  for (auto& [number, group] : known) {
    Group left;
    for (const Rank member : group.members) {
      if (living(member) && states[static_cast<std::size_t>(member)]->finished < number)
        left.push_back(member);
    }
    if (!std::all_of(group.members.begin(), group.members.end(), living)) {
      ++group.issue;
      group.members = left;
      if (left.size() < 2) continue;
    }
    const auto shared = std::make_shared<const IssuedGroup>(std::move(group));
    for (const Rank member : left) add(shared, member, 1);
  }
}

}  // namespace starling::coordination
