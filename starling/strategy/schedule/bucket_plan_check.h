// Workers with different buckets would wait for each other forever. So they compare their plans before they
// use them.
#pragma once

#include "starling/collective/buckets.h"
#include "starling/strategy/worker.h"

namespace starling::strategy {

// All workers call it together. If some have another plan, or another `kind` of it, all throw the same Error,
// which names the first of them and rank 0, and both plans.
Task<> agree_on_plan(Worker& self, collective::SharedGroup everyone, const collective::Buckets& buckets,
                     std::uint64_t kind, Tag tag);

}  // namespace starling::strategy
