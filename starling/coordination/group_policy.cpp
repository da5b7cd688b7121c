#include "starling/coordination/group_policy.h"

#include "starling/coordination/random_groups.h"
#include "starling/coordination/ready_groups.h"
#include "starling/coordination/smart_groups.h"
#include "starling/core/error.h"

namespace starling::coordination {

std::unique_ptr<GroupPolicy> make_policy(const GroupRules& rules, Random random) {
  switch (rules.kind) {
    case GroupRules::Kind::kRandom:
      return std::make_unique<RandomGroups>(rules.size, random);
    case GroupRules::Kind::kSmart:
      return std::make_unique<SmartGroups>(
          SmartGroups::Rules{rules.size, rules.threshold, rules.lateness, rules.by_host}, random);
    case GroupRules::Kind::kReady:
      return std::make_unique<ReadyGroups>(
          ReadyGroups::Rules{rules.size, rules.window, rules.weigh_staleness});
    case GroupRules::Kind::kStatic:
      break;
  }
  throw InvalidArgument("static groups come from a schedule, not from a generator");
}

}  // namespace starling::coordination
