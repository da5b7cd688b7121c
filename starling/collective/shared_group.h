// A group as the collectives take it: what a call needs to know about its members is found out once, and
// copies share one list. A plain Group converts to one. Who calls often in a large group, or for thousands of
// simulated ranks, makes one and passes it everywhere: then a call costs nothing per member.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>

#include "starling/core/types.h"

namespace starling::collective {

class SharedGroup {
 public:
  SharedGroup(Group ranks)  // NOLINT(google-explicit-constructor): a group is one
      : ranks_(std::make_shared<const Group>(std::move(ranks))), ascending_(is_ascending(*ranks_)) {}
  SharedGroup(std::initializer_list<Rank> ranks) : SharedGroup(Group(ranks)) {}

  const Group& ranks() const { return *ranks_; }
  operator const Group&() const { return *ranks_; }  // NOLINT(google-explicit-constructor): as above

  std::size_t size() const { return ranks_->size(); }
  // Each rank is above the one before, so all are distinct.
  bool ascending() const { return ascending_; }

 private:
  // Without a branch inside, so that many ranks are compared at a time.
  static bool is_ascending(const Group& ranks) {
    bool all = true;
    for (std::size_t i = 1; i < ranks.size(); ++i) all &= ranks[i - 1] < ranks[i];
    return all;
  }

  std::shared_ptr<const Group> ranks_;
  bool ascending_;
};

}  // namespace starling::collective
