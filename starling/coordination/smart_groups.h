// Ripples' smart generator (Prague, ASPLOS'20).
//
//   Group buffer     A worker in an unfinished group is given that group, and no new one is made.
//   Group division   Else all idle workers are divided at random in groups of about k at once, so that the
//                    requests that follow find their group ready and no two of the groups have a common
//                    member.
//   Slowdown filter  A worker is left out of the division that i asks for if it has asked `threshold` times
//                    less than i or fewer: a fast worker is not made to wait for one that falls behind. The
//                    other way round there is no limit: a slow worker that asks is there already, and waits
//                    for others only. Workers that always meet a slow one never get ahead of it, so their
//                    counts do not tell; therefore, and this rule is ours, a worker is also left out if,
//                    going by its last section, it is not due to come within `lateness` sections of i: not
//                    for long, or not any more. One that is slow and nearly there is invited. Every fourth
//                    division allows a whole section, so that workers of equal speed that are out of step
//                    meet as well.
//   Inter and intra  Where the idle workers are on several hosts, one of each host, its head, first averages
//                    with other heads in groups of about k; then each host's workers average, all in one
//                    group, to which the head brings what it got. So one worker per host uses the host's
//                    link. The head changes with every division.
//
// So a worker that is steadily slower delays others in its first section, about which nothing is known, and
// afterwards nobody by more than a section; without that rule it would delay the workers that meet it until
// it is `threshold` requests behind.
#pragma once

#include "starling/coordination/group_policy.h"

namespace starling::coordination {

class SmartGroups final : public GroupPolicy {
 public:
  struct Rules {
    std::size_t size = 3;
    std::uint64_t threshold = 4;
    double lateness = 0.25;
    bool by_host = true;
  };
  SmartGroups(const Rules& rules, Random random) : rules_(rules), random_(random) {}
  Decision asked(const WorkerRoster& roster, Rank who, Time now) override;

 private:
  bool falls_behind(const WorkerRoster& roster, Rank rank, Rank who) const;
  bool comes_soon(const WorkerRoster& roster, Rank rank, Rank who, Time now) const;
  Group candidates(const WorkerRoster& roster, Rank who, Time now) const;
  void divide(Group members, std::vector<Planned>& groups);
  void divide_by_host(const WorkerRoster& roster, const Group& members, std::vector<Planned>& groups);

  static constexpr std::uint64_t kWide = 4;  // one of this many divisions allows a whole section

  Rules rules_;
  Random random_;
  std::uint64_t divisions_ = 0;
};

}  // namespace starling::coordination
