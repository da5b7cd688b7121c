// Ripples' first generator (Luo, He, Zhuo and Qian, "Ripples", 2019; "Prague", ASPLOS'20): whoever asks gets
// a group of its own, itself and k-1 others drawn from all who are there. A worker is so in about k groups
// for each of its own requests, and runs all it is in, oldest first, before it goes on: groups with common
// members wait for each other, which is what the smart generator avoids.
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
