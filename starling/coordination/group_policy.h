// Decides which workers average together. The generator (group_generator.h) asks a policy, numbers its
// groups, issues them in that order, and handles losses; the policy itself sends nothing and waits for
// nobody.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "starling/coordination/worker_roster.h"
#include "starling/core/random.h"

namespace starling::coordination {

class GroupPolicy {
 public:
  struct Planned {
    Group members;                // ascending, at least two
    std::vector<double> weights;  // of the members in the mean; empty: equal
  };
  struct Decision {
    std::vector<Planned> groups;  // to be run in this order by workers that are in several
    Group alone;                  // workers that asked and go on without a group
    std::optional<Time> again;    // when look() is to be called
  };

  virtual ~GroupPolicy() = default;

  // `who` has come to synchronise; its count says how often it has. A worker that the decision leaves out and
  // that is in no other group waits for a later decision.
  virtual Decision asked(const WorkerRoster& roster, Rank who, Time now) = 0;
  // The requested time has come, or a worker has left.
  virtual Decision look(const WorkerRoster& /*roll*/, Time /*now*/) { return {}; }
  // Whether a worker goes on only when it is in no group any more, and not when it has run those of one
  // decision.
  virtual bool drains() const { return false; }
  // The worker is no longer present.
  virtual void gone(Rank /*who*/) {}
};

struct GroupRules {
  enum class Kind { kStatic, kRandom, kSmart, kReady };
  Kind kind = Kind::kSmart;
  std::size_t size = 3;                            // of a group
  std::uint64_t threshold = 4;                     // smart: see smart_groups.h
  double lateness = 0.25;                          // smart
  bool by_host = true;                             // smart: divide between and inside hosts
  Duration window = std::chrono::milliseconds(5);  // ready
  bool weigh_staleness = false;                    // ready
  // A worker that still trains is told when it gets a group (GroupSource::called()). Not for kStatic.
  bool calls = false;
};

// Not for kStatic, which needs no policy.
std::unique_ptr<GroupPolicy> make_policy(const GroupRules& rules, Random random);

}  // namespace starling::coordination
