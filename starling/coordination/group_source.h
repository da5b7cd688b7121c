// Where a worker gets its groups from: the generator, or a schedule. Belongs to the engine's thread.
//
//   while (const auto meeting = co_await groups.next()) {    // none: go on
//     try {
//       ... average with meeting->group ...
//       groups.finished();
//     } catch (const PeerLost&) {
//       groups.failed();                                     // next() has another group, or none
//     }
//   }
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "starling/coordination/group_generator.h"

namespace starling::coordination {

struct GroupTurn {
  Group group;               // ascending
  std::uint64_t number = 0;  // the same for all members; with `issue`, of no other meeting of theirs
  std::uint32_t issue = 0;
  double weight = 1;  // of this worker in the mean
};

class GroupSource {
 public:
  virtual ~GroupSource() = default;

  // Takes what the generator says. Goes on beside the worker until nobody else is left.
  virtual runtime::Task<> listen() = 0;

  // The worker has come to synchronise: its next group. None when it shall go on training.
  virtual runtime::Task<std::optional<GroupTurn>> next() = 0;
  // The worker is done, or rests, and only runs the groups that it is in already; the others get no new ones
  // with it, until it calls next() again.
  virtual runtime::Task<std::optional<GroupTurn>> next_before_leaving() = 0;

  // What became of the group that next() gave. One that failed did so because a member is lost.
  virtual void finished() = 0;
  virtual void failed() = 0;

  // Synchronisations so far; a run that goes on from a checkpoint sets it before the first one.
  virtual std::uint64_t& count() = 0;

  // Whom next() waits for.
  virtual Rank generator() const = 0;
};

// `computing` tells how long the worker has computed so far; it may be empty.
std::unique_ptr<GroupSource> make_group_source(transport::Transport& net, const GroupOptions& setting,
                                               std::function<Duration()> computing);

}  // namespace starling::coordination
