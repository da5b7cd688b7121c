// The generator's table: the groups, which of them each worker has to run next, and which workers wait for an
// answer. It is the only source of the groups' numbers. It sends nothing: it returns the answers to be sent,
// and the calls of workers that still train.
//
// Invariants: a worker's groups are in the order of their numbers; all members of a group get it in one
// action. So the unfinished group with the smallest number is the next one of each of its members, which come
// to it when they next synchronise; it ends, and by induction all do.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "starling/coordination/group_messages.h"
#include "starling/coordination/group_policy.h"

namespace starling::coordination {

class GroupTable {
 public:
  // The answer to a worker. A group of number 0 means that it goes on alone.
  struct Answer {
    Rank to = 0;
    IssuedGroup group;
    bool call = false;  // the worker has not asked: the group is one that it will get
    bool last = true;
    double weight = 1;
    Time asked{};  // since when the worker has waited for this
  };
  using Answers = std::vector<Answer>;

  // The amount of work so far.
  struct Tally {
    std::uint64_t requests = 0;
    std::uint64_t groups = 0;
    std::uint64_t members = 0;  // of all these groups

    Tally& operator+=(const Tally& other) {
      requests += other.requests;
      groups += other.groups;
      members += other.members;
      return *this;
    }
  };

  // All workers are present. `calls`: those that get a group while they train are called.
  GroupTable(std::vector<int> host_of, std::unique_ptr<GroupPolicy> policy, bool calls = false);

  // Handle kAsk, kLeave and kDone.
  Answers ask(Rank worker, const GroupMessage& note, Time now);
  Answers leave(Rank worker, const GroupMessage& note, Time now);
  void done(const IssuedGroup& group, Time now);
  Answers look(Time now);

  // When look() is to be called next.
  std::optional<Time> due() const { return due_; }
  const Tally& tally() const { return tally_; }

  // Fills a new table from the states that the living report, by worker; none for the lost. Groups that no
  // worker knows of are forgotten.
  using States = std::vector<std::optional<GroupMessage>>;
  Answers restore(const States& states, Time now);

 private:
  using SharedGroup = std::shared_ptr<const IssuedGroup>;
  struct Entry {
    SharedGroup group;
    double weight = 1;
  };
  struct Desk {
    std::deque<Entry> groups;  // not finished, by number
    bool asking = false;       // waits for an answer
    std::uint64_t until = 0;   // the last group that this synchronisation has to run
    Time asked{};
  };

  Desk& desk(Rank worker) { return desks_[static_cast<std::size_t>(worker)]; }
  void open(Rank worker, std::uint64_t finished, Time now);
  void finish(Rank worker, std::uint64_t number);
  void trains(Rank worker);
  void remove(Rank worker);
  void add(const SharedGroup& group, Rank member, double weight);
  void carry_out(const GroupPolicy::Decision& decision, Answers& answers);
  void synchronise(Rank worker, Answers& answers);
  // The last group of a synchronisation that extends to this one.
  std::uint64_t last_if(const Entry& entry) const;
  void answer(Rank worker, Answers& answers);
  void call(Rank worker, Answers& answers);
  void go_on_alone(Rank worker, Answers& answers);
  void restore_groups(const States& states);

  WorkerRoster roster_;
  std::unique_ptr<GroupPolicy> policy_;
  bool calls_;
  std::vector<Desk> desks_;
  std::uint64_t next_number_ = 1;
  std::optional<Time> due_;
  Time now_{};
  Tally tally_;
};

}  // namespace starling::coordination
