#include "starling/collective/doubling.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "starling/collective/fold.h"
#include "starling/collective/staging.h"
#include "starling/core/partition.h"

namespace starling::collective {

namespace {

// The slices of a vector in the order i, i+1, ..., around to i-1, one behind the other.
class Rotation {
 public:
  Rotation(std::size_t count, std::size_t members, std::size_t first)
      : count_(count), members_(members), first_(first), start_(slice_of(count, members, first).begin) {}

  std::size_t start() const { return start_; }

  // The beginning of the slice `distance` positions after the first one; `members` positions after it: the
  // end.
  std::size_t offset(std::size_t distance) const {
    const std::size_t slice = first_ + distance;
    if (slice < members_) return slice_of(count_, members_, slice).begin - start_;
    return count_ - start_ + slice_of(count_, members_, slice - members_).begin;
  }

 private:
  std::size_t count_;
  std::size_t members_;
  std::size_t first_;
  std::size_t start_;
};

void copy(Data target, Data source) {
  if (source.count > 0 && !source.ghost()) std::memcpy(target.bytes, source.bytes, source.size());
}

}  // namespace

Task<> doubling_all_reduce(Transport& net, const Group& group, Data data, ReduceOp op, Tag tag) {
  const Fold fold(group.size());
  const std::size_t self = index_in(group, net.rank());
  const transport::Memory incoming = scratch_for(net, data, data.size());
  if (fold.extras() > 0) co_await fold_in(net, group, data, op, incoming.bytes, tag);
  if (!fold.sits_out(self)) {
    const std::size_t seat = fold.seat_of(self);
    for (std::size_t distance = 1; distance < fold.seats(); distance *= 2) {
      const Rank partner = group[fold.member_at(seat ^ distance)];
      auto received = net.recv(partner, tag, incoming.bytes);
      auto sent = net.send(partner, tag, data.span());
      co_await received;
      co_await sent;  // before the vector changes
      combine_in_order(op, data, incoming.bytes.data(), (seat & distance) == 0);
    }
  }
  if (fold.extras() > 0) co_await fold_out(net, group, data, tag);
}

Task<> doubling_all_gather(Transport& net, const Group& group, Data data, Tag tag) {
  const std::size_t members = group.size();
  const std::size_t self = index_in(group, net.rank());
  const Rotation rotation(data.count, members, self);
  const transport::Memory memory = scratch_for(net, data, data.size());
  const Data rotated(memory.bytes.data(), data.count, data.type);
  const Slice own = slice_of(data.count, members, self);
  copy(rotated, data.part(own.begin, own.end));

  for (std::size_t have = 1; have < members; have *= 2) {
    const std::size_t more = std::min(have, members - have);
    const Data wanted = rotated.part(rotation.offset(have), rotation.offset(have + more));
    auto received = net.recv(group[(self + have) % members], tag, wanted.span());
    auto sent = net.send(group[(self + members - have) % members], tag,
                         rotated.part(0, rotation.offset(more)).span());
    co_await received;
    co_await sent;
  }
  const std::size_t until_end = data.count - rotation.start();
  copy(data.part(rotation.start(), data.count), rotated.part(0, until_end));
  copy(data, rotated.part(until_end, data.count));
}

Task<> tree_broadcast(Transport& net, const Group& group, Rank root, Data data, Tag tag) {
  const std::size_t members = group.size();
  const std::size_t shift = index_in(group, root);
  const std::size_t place = (index_in(group, net.rank()) + members - shift) % members;  // the root's is 0
  // The parent's position has our lowest bit cleared; the positions of the children add a bit below it.
  std::size_t reach = std::bit_ceil(members);
  if (place != 0) {
    reach = std::size_t{1} << std::countr_zero(place);
    co_await net.recv(group[(place - reach + shift) % members], tag, data.span());
  }
  // The child with the largest subtree first.
  for (reach /= 2; reach > 0; reach /= 2) {
    if (place + reach >= members) continue;
    co_await net.send(group[(place + reach + shift) % members], tag, data.span());
  }
}

Task<> dissemination_barrier(Transport& net, const Group& group, Tag tag) {
  const std::size_t members = group.size();
  const std::size_t self = index_in(group, net.rank());
  for (std::size_t distance = 1; distance < members; distance *= 2) {
    auto heard = net.recv(group[(self + members - distance) % members], tag, {});
    auto told = net.send(group[(self + distance) % members], tag, {});
    co_await heard;
    co_await told;
  }
}

}  // namespace starling::collective
