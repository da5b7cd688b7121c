// The source of a worker's groups: the generator, or a schedule. Belongs to the engine's thread.
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
  Group group;  // ascending
  std::uint64_t number =
      0;  // the same for all members; together with `issue` unique among the groups of its members
  std::uint32_t issue = 0;
  double weight = 1;  // of this worker in the mean
};

class GroupSource {
 public:
  virtual ~GroupSource() = default;

  // Receives the generator's messages. Runs beside the worker until no other is left.
  virtual runtime::Task<> listen() = 0;

  // The worker has come to synchronise: returns its next group, or none if it is to go on training.
  virtual runtime::Task<std::optional<GroupTurn>> next() = 0;
  // The worker is done, or pauses, and only runs the groups that it is in already; it gets no new ones until
  // it calls next() again.
  virtual runtime::Task<std::optional<GroupTurn>> next_before_leaving() = 0;

  // Whether this worker is in a group that it has not asked for yet, and where others may wait for it. Only
  // where the rules say `calls`.
  virtual bool called() const { return false; }

  // The outcome of the group that next() returned. A group fails because a member is lost.
  virtual void finished() = 0;
  virtual void failed() = 0;

  // Synchronisations so far; a run that continues from a checkpoint sets it before the first one.
  virtual std::uint64_t& count() = 0;

  // The rank that next() waits for.
  virtual Rank generator() const = 0;
};

// `computing` returns how long the worker has computed so far; it may be empty.
std::unique_ptr<GroupSource> make_group_source(transport::Transport& net, const GroupOptions& setting,
                                               std::function<Duration()> computing);

}  // namespace starling::coordination
