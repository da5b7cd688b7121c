// Ripples' first generator (Luo, He, Zhuo and Qian, "Ripples", 2019; "Prague", ASPLOS'20): a worker that asks
// gets a group of its own, itself and k-1 others drawn from all that are present. A worker is thus in about k
// groups for each of its own requests, and runs all of them, oldest first, before it goes on: groups with
// common members wait for each other, which the smart generator avoids.
#pragma once

#include "starling/coordination/group_policy.h"

namespace starling::coordination {

class RandomGroups final : public GroupPolicy {
 public:
  RandomGroups(std::size_t size, Random random) : size_(size), random_(random) {}
  Decision asked(const WorkerRoster& roster, Rank who, Time now) override;
  bool drains() const override { return true; }

 private:
  std::size_t size_;
  Random random_;
};

}  // namespace starling::coordination
