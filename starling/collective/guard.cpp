#include "starling/collective/guard.h"

#include <utility>

#include "starling/core/error.h"
#include "starling/runtime/scope.h"

namespace starling::collective {

namespace {

Task<> watch(Transport& net, const Group& group) {
  for (;;) {
    require_alive(net, group);
    co_await net.losses();
  }
}

}  // namespace

void require_alive(const Transport& net, const Group& group) {
  if (!net.any_lost()) return;
  for (const Rank rank : group) {
    if (net.lost(rank)) throw PeerLost(rank, net.why_lost(rank));
  }
}

Task<> guarded(Transport& net, const Group& group, Task<> exchange) {
  require_alive(net, group);  // before anything is sent
  runtime::Scope scope(co_await runtime::this_context());
  scope.race();
  scope.spawn(watch(net, group), "watch for losses");
  scope.spawn(std::move(exchange));
  co_await scope.join();
}

}  // namespace starling::collective
