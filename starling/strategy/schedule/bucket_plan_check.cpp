#include "starling/strategy/schedule/bucket_plan_check.h"

#include "starling/core/error.h"

namespace starling::strategy {

namespace {

struct Plan {
  std::int64_t buckets = 0;
  std::int64_t hash = 0;
  bool operator==(const Plan&) const = default;
};

constexpr std::size_t kNumbers = sizeof(Plan) / sizeof(std::int64_t);

std::string text_of(const Plan& plan) {
  return concat(plan.buckets, plan.buckets == 1 ? " bucket" : " buckets", ", ",
                format_hex(static_cast<std::uint64_t>(plan.hash)));
}

}  // namespace

Task<> agree_on_plan(Worker& self, collective::SharedGroup everyone, const collective::Buckets& buckets,
                     std::uint64_t kind, Tag tag) {
  if (everyone.size() == 1) co_return;
  std::vector<Plan> plans(everyone.size());
  plans[collective::index_in(everyone, self.rank())] = {static_cast<std::int64_t>(buckets.size()),
                                                        static_cast<std::int64_t>(hash_of(buckets, kind))};
  const Data all{std::span<std::int64_t>(&plans.front().buckets, plans.size() * kNumbers)};
  co_await collective::all_gather(self.net(), everyone, all, tag);
  std::size_t other = 0;
  while (other < plans.size() && plans[other] == plans[0]) ++other;
  if (other == plans.size()) co_return;
  // A worker that leaves now is lost to the others, so none leaves before all know why.
  try {
    co_await collective::barrier(self.net(), everyone, tag);
  } catch (const PeerLost&) {
  }
  const Group& ranks = everyone;
  throw Error(concat("rank ", ranks[other], " would send its gradients in another way (",
                     text_of(plans[other]), ") than rank ", ranks[0], " (", text_of(plans[0]),
                     "): all need the same model and the same options"));
}

}  // namespace starling::strategy
