#include "starling/coordination/group_source.h"

#include <utility>

#include "starling/coordination/group_client.h"
#include "starling/coordination/static_client.h"

namespace starling::coordination {

std::unique_ptr<GroupSource> make_group_source(transport::Transport& net, const GroupOptions& setting,
                                               std::function<Duration()> computing) {
  if (setting.rules.kind == GroupRules::Kind::kStatic) return std::make_unique<StaticClient>(net, setting);
  return std::make_unique<GroupClient>(net, setting, std::move(computing));
}

}  // namespace starling::coordination
