// A call of a collective, as cost.h describes it, made for real.
#pragma once

#include "starling/collective/collective.h"
#include "starling/collective/cost.h"

namespace starling::testing {

inline constexpr collective::Algorithm kByMessages[] = {
    collective::Algorithm::kRing, collective::Algorithm::kDoubling, collective::Algorithm::kHalving};

inline runtime::Task<> perform(const collective::Call& call, transport::Transport& net, const Group& group,
                               Rank root, collective::Data data, collective::Reduction how) {
  using collective::Collective;
  switch (call.kind) {
    case Collective::kAllReduce:
      return collective::all_reduce(net, group, data, how, 1, call.algorithm);
    case Collective::kReduceScatter:
      return collective::reduce_scatter(net, group, data, how, 1, call.algorithm);
    case Collective::kAllGather:
      return collective::all_gather(net, group, data, 1, call.algorithm);
    case Collective::kBroadcast:
      return collective::broadcast(net, group, root, data, 1, call.algorithm);
    case Collective::kGather:
      return collective::gather(net, group, root, data, 1);
    default:
      return collective::barrier(net, group, 1, call.algorithm);
  }
}

}  // namespace starling::testing
