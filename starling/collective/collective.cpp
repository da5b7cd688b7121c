// The front end: checks the call, chooses the algorithm, and wraps a message-based exchange in what all of
// them need: an end when a member is lost, and for reductions a staged copy.
#include "starling/collective/collective.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "starling/collective/direct.h"
#include "starling/collective/doubling.h"
#include "starling/collective/guard.h"
#include "starling/collective/halving.h"
#include "starling/collective/hierarchical.h"
#include "starling/collective/ring.h"
#include "starling/collective/select.h"
#include "starling/collective/staging.h"
#include "starling/core/error.h"
#include "starling/core/partition.h"

namespace starling::collective {

namespace {

// InvalidArgument unless these are distinct ranks that exist.
void check_members(const Transport& net, const Group& group, bool ascending) {
  if (ascending && group.front() >= 0 && group.back() < net.size()) return;
  std::vector<bool> seen(static_cast<std::size_t>(net.size()));
  for (const Rank rank : group) {
    if (rank < 0 || rank >= net.size()) {
      throw InvalidArgument(concat("group ", join_texts(group), ": there are ranks 0 to ", net.size() - 1));
    }
    if (seen[static_cast<std::size_t>(rank)]) {
      throw InvalidArgument(concat("group ", join_texts(group), ": rank ", rank, " is in it twice"));
    }
    seen[static_cast<std::size_t>(rank)] = true;
  }
}

// InvalidArgument unless this rank is among the members and they are well formed.
void check_group(const Transport& net, const SharedGroup& group) {
  if (group.size() == 0) throw InvalidArgument("a collective needs a group of at least one rank");
  check_members(net, group, group.ascending());
  index_in(group, net.rank());
}

Task<> run_all_reduce(Algorithm algorithm, Transport& net, const Group& group, Data data, ReduceOp op,
                      Tag tag) {
  if (algorithm == Algorithm::kRing) return ring_all_reduce(net, group, data, op, tag);
  if (algorithm == Algorithm::kHalving) return halving_all_reduce(net, group, data, op, tag);
  return doubling_all_reduce(net, group, data, op, tag);
}

// Doubling has no reduce-scatter: its steps carry everything, and each member keeps its slice.
Task<> run_reduce_scatter(Algorithm algorithm, Transport& net, const Group& group, Data data, ReduceOp op,
                          Tag tag) {
  if (algorithm == Algorithm::kDoubling) return doubling_all_reduce(net, group, data, op, tag);
  if (algorithm == Algorithm::kHalving && halving_splits(group.size())) {
    return halving_reduce_scatter(net, group, data, op, tag);
  }
  return ring_reduce_scatter(net, group, data, op, tag);
}

Task<> run_all_gather(Algorithm algorithm, Transport& net, const Group& group, Data data, Tag tag) {
  if (algorithm == Algorithm::kDoubling) return doubling_all_gather(net, group, data, tag);
  if (algorithm == Algorithm::kHalving && halving_splits(group.size())) {
    return halving_all_gather(net, group, data, tag);
  }
  return ring_all_gather(net, group, data, tag);
}

Task<> staged_all_reduce(Algorithm algorithm, Transport& net, const Group& group, Data data, Reduction how,
                         Tag tag) {
  const double divisor = co_await exchange_divisor(net, group, data.type, how, tag);
  Stage stage(net, data, how);
  co_await run_all_reduce(algorithm, net, group, stage.copy(), operation_of(how), tag);
  stage.write_back(0, data.count, divisor);
}

Task<> staged_reduce_scatter(Algorithm algorithm, Transport& net, const Group& group, Data data,
                             Reduction how, Tag tag) {
  const double divisor = co_await exchange_divisor(net, group, data.type, how, tag);
  Stage stage(net, data, how);
  co_await run_reduce_scatter(algorithm, net, group, stage.copy(), operation_of(how), tag);
  const Slice own = slice_of(data.count, group.size(), index_in(group, net.rank()));
  stage.write_back(own.begin, own.end, divisor);
}

Task<> send_to_root(Transport& net, const Group& group, Rank root, Data data, Tag tag) {
  const Slice own = slice_of(data.count, group.size(), index_in(group, net.rank()));
  co_await net.send(root, tag, data.part(own.begin, own.end).span());
}

Task<> collect(Transport& net, const Group& group, Data data, Tag tag) {
  std::deque<transport::Receiving> slices;  // all posted before the first is awaited
  for (std::size_t member = 0; member < group.size(); ++member) {
    if (group[member] == net.rank()) continue;
    const Slice slice = slice_of(data.count, group.size(), member);
    slices.emplace_back(net, group[member], tag, data.part(slice.begin, slice.end).span());
  }
  for (auto& slice : slices) co_await slice;
}

}  // namespace

std::size_t index_in(const Group& group, Rank rank) {
  const auto usual = static_cast<std::size_t>(rank);  // its index in a group of all ranks
  if (usual < group.size() && group[usual] == rank) return usual;
  const auto found = std::find(group.begin(), group.end(), rank);
  if (found == group.end()) {
    throw InvalidArgument(concat("rank ", rank, " is not a member of group ", join_texts(group)));
  }
  return static_cast<std::size_t>(found - group.begin());
}

Task<> all_reduce(Transport& net, SharedGroup group, Data data, Reduction how, Tag tag, Choice choice) {
  check_group(net, group);
  check_reduction(group, data.type, how);
  if (group.size() == 1) co_return;
  const Algorithm algorithm = choose(net, group, data.size(), choice);
  if (algorithm == Algorithm::kDirect) {
    co_await direct_all_reduce(net, group, data, how, tag);
  } else if (algorithm == Algorithm::kHierarchical) {
    co_await guarded(net, group, hierarchical_all_reduce(net, group, data, how, tag));
  } else {
    co_await guarded(net, group, staged_all_reduce(algorithm, net, group, data, how, tag));
  }
}

Task<> reduce_scatter(Transport& net, SharedGroup group, Data data, Reduction how, Tag tag, Choice choice) {
  check_group(net, group);
  check_reduction(group, data.type, how);
  if (group.size() == 1) co_return;
  const Algorithm algorithm = choose(net, group, data.size(), choice);
  if (algorithm == Algorithm::kDirect) {
    co_await direct_reduce_scatter(net, group, data, how, tag);
  } else if (algorithm == Algorithm::kHierarchical && hierarchical_halves_possible(net, group)) {
    co_await guarded(net, group, hierarchical_reduce_scatter(net, group, data, how, tag));
  } else {
    co_await guarded(net, group, staged_reduce_scatter(algorithm, net, group, data, how, tag));
  }
}

Task<> all_gather(Transport& net, SharedGroup group, Data data, Tag tag, Choice choice) {
  check_group(net, group);
  if (group.size() == 1) co_return;
  const Algorithm algorithm = choose(net, group, data.size(), choice);
  if (algorithm == Algorithm::kDirect) {
    co_await direct_all_gather(net, group, data, tag);
  } else if (algorithm == Algorithm::kHierarchical && hierarchical_halves_possible(net, group)) {
    co_await guarded(net, group, hierarchical_all_gather(net, group, data, tag));
  } else {
    co_await guarded(net, group, run_all_gather(algorithm, net, group, data, tag));
  }
}

Task<> broadcast(Transport& net, SharedGroup group, Rank root, Data data, Tag tag, Choice choice) {
  check_group(net, group);
  index_in(group, root);
  if (group.size() == 1) co_return;
  const Algorithm algorithm = choose(net, group, data.size(), choice);
  if (algorithm == Algorithm::kDirect) {
    co_await direct_broadcast(net, group, root, data, tag);
  } else if (algorithm == Algorithm::kHierarchical) {
    co_await guarded(net, group, hierarchical_broadcast(net, group, root, data, tag));
  } else {
    co_await guarded(net, group, tree_broadcast(net, group, root, data, tag));
  }
}

Task<> gather(Transport& net, SharedGroup group, Rank root, Data data, Tag tag) {
  check_group(net, group);
  index_in(group, root);
  if (group.size() == 1) co_return;
  Task<> exchange =
      net.rank() == root ? collect(net, group, data, tag) : send_to_root(net, group, root, data, tag);
  co_await guarded(net, group, std::move(exchange));
}

Task<> barrier(Transport& net, SharedGroup group, Tag tag, Choice choice) {
  check_group(net, group);
  if (group.size() == 1) co_return;
  const Algorithm algorithm = choose(net, group, 0, choice);
  if (algorithm == Algorithm::kDirect) {
    co_await direct_barrier(net, group, tag);
  } else {
    co_await guarded(net, group, dissemination_barrier(net, group, tag));
  }
}

}  // namespace starling::collective
