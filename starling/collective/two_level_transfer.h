// Data on its way through the two levels of a group: within each host, and between hosts.
//
// The data is cut into one block per host. On the way in, the members of a host reduce-scatter every block
// among themselves. They send their parts of another host's block to its members, which add up the hosts'
// parts in the order of the hosts. On the way out the same messages go back, and the members of each host
// all-gather the blocks. A block is on the link while the next one is processed in memory.
//
// Hosts may have different numbers of members: a member of one host then shares a part with several members
// of another.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/core/partition.h"

namespace starling::collective {

// The group as one of its members sees it.
struct HostView {
  HostView(const Transport& net, const SharedGroup& group);

  const std::vector<Group>& hosts() const { return layout->hosts; }
  const Group& local() const { return hosts()[host]; }
  // The part of a host's block that a member handles.
  Slice part(Slice block, std::size_t of_host, std::size_t of_seat) const;

  std::shared_ptr<const HostLayout> layout;
  std::size_t host = 0;  // of this member
  std::size_t seat = 0;  // its index there
};

using Blocks = std::vector<Slice>;  // by host

// Blocks of equal size.
Blocks equal_blocks(const HostView& view, std::size_t count);
// The slices of each host's members, which are consecutive in the group.
Blocks blocks_of_members(const HostView& view, std::size_t count);

class TwoLevelTransfer {
 public:
  TwoLevelTransfer(Transport& net, const HostView& view, Blocks blocks, Data data, ReduceOp op, Tag tag)
      : net_(net), view_(view), blocks_(std::move(blocks)), data_(data), op_(op), tag_(tag) {}

  // The way in: afterwards this member has its part of its host's block, reduced over all.
  Task<> reduce();
  // The way out: from there to the whole data.
  Task<> gather();

 private:
  Data at(Slice slice) const { return data_.part(slice.begin, slice.end); }
  Slice own_part(std::size_t of_block) const { return view_.part(blocks_[of_block], view_.host, view_.seat); }
  // The k-th other host, so that not all members begin with the same one.
  std::size_t other(std::size_t k) const { return (view_.host + k) % view_.hosts().size(); }

  Task<> reduce_locally(std::size_t of_block);
  Task<> gather_locally(std::size_t of_block);

  // Calls visit(rank, slice) for the parts of a block that this member shares with members of another host.
  template <class Visitor>
  void meet(std::size_t host, std::size_t of_block, Visitor visit) const;

  Transport& net_;
  const HostView& view_;
  Blocks blocks_;
  Data data_;
  ReduceOp op_;
  Tag tag_;
};

}  // namespace starling::collective
