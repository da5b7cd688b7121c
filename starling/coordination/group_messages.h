// The messages between workers and the group generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/core/types.h"

namespace starling::coordination {

// A group as it was issued. Workers run theirs in the order of the numbers. When a member is lost, the group
// is issued again to the members that have not finished it: with the same number and the next issue.
struct IssuedGroup {
  std::uint64_t number = 0;  // from 1; 0: no group
  std::uint32_t issue = 0;
  std::uint64_t round = 0;  // groups of one decision have the same
  Group members;            // the first member tells the generator when it is finished
};

struct GroupMessage {
  enum class Verb : std::uint8_t {
    // From a worker.
    kAsk,    // has come to synchronise, or has run a group of several
    kLeave,  // wants no new group until it asks again: it only runs the groups that it is in
    kDone,   // `group` is finished
    kState,  // the answer to a census: count, finished, asks, leaves, and the group it was given last; static
             // groups: count and the changes it knows
    // From the generator.
    kGroup,   // run `group`; `last`: then go on
    kAlone,   // go on without a group
    kCall,    // others may wait for you in `group`, which you get when you synchronise
    kCensus,  // a worker is lost, or the generator is new: report your state. members: the lost
    kResume,  // static groups: go on; members: all changes of the schedule so far
  };
  Verb verb = Verb::kAsk;
  bool asks = false;
  bool leaves = false;
  bool last = false;
  std::uint64_t epoch = 0;     // of the census that the sender has answered, or taken, last
  std::uint64_t count = 0;     // the worker's synchronisations, with this one
  std::uint64_t finished = 0;  // the number of the last group it has finished
  Duration section{};          // kAsk: how long it has computed since its last request
  double weight = 1;           // kGroup: of the receiver in the mean
  IssuedGroup group;
};

// Static groups: from a round on, the lost are left out.
struct ScheduleChange {
  std::uint64_t from = 0;
  Group lost;

  friend bool operator==(const ScheduleChange&, const ScheduleChange&) = default;
};
// Several changes as the members of a message, which are numbers too.
Group to_ranks(const std::vector<ScheduleChange>& changes);
std::vector<ScheduleChange> changes_from(const Group& ranks);

std::vector<std::byte> to_bytes(const GroupMessage& note);
// Error if these bytes are not a message.
GroupMessage message_from(std::span<const std::byte> bytes);

}  // namespace starling::coordination
