// A group as the collectives take it: the facts that a call needs about its members are determined once, and
// copies share one list. A plain Group converts to one. Callers that call often in a large group, or for
// thousands of simulated ranks, make one and pass it everywhere: then a call costs nothing per member.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "starling/collective/host_layout.h"
#include "starling/core/types.h"

namespace starling::collective {

class SharedGroup {
 public:
  SharedGroup(Group ranks)  // NOLINT(google-explicit-constructor): a group is one
      : shared_(std::make_shared<Shared>(std::move(ranks))), ascending_(is_ascending(shared_->ranks)) {}
  SharedGroup(std::initializer_list<Rank> ranks) : SharedGroup(Group(ranks)) {}

  const Group& ranks() const { return shared_->ranks; }
  operator const Group&() const { return shared_->ranks; }  // NOLINT(google-explicit-constructor): as above

  std::size_t size() const { return shared_->ranks.size(); }
  // Each rank is above the one before, so all are distinct.
  bool ascending() const { return ascending_; }

  // The layout of ranks on these hosts: made by the first caller, for all.
  std::shared_ptr<const HostLayout> layout(
      const std::shared_ptr<const std::vector<int>>& host_of_rank) const {
    const std::scoped_lock lock(shared_->mutex);
    if (!shared_->layout || shared_->host_of_rank != host_of_rank) {
      shared_->layout = std::make_shared<const HostLayout>(shared_->ranks, *host_of_rank);
      shared_->host_of_rank = host_of_rank;
    }
    return shared_->layout;
  }

 private:
  struct Shared {
    explicit Shared(Group members) : ranks(std::move(members)) {}
    const Group ranks;
    std::mutex mutex;
    std::shared_ptr<const std::vector<int>> host_of_rank;  // the hosts that the layout is for
    std::shared_ptr<const HostLayout> layout;
  };

  // Without a branch inside, so that many ranks are compared at a time.
  static bool is_ascending(const Group& ranks) {
    bool all = true;
    for (std::size_t i = 1; i < ranks.size(); ++i) all &= ranks[i - 1] < ranks[i];
    return all;
  }

  std::shared_ptr<Shared> shared_;
  bool ascending_;
};

}  // namespace starling::collective
