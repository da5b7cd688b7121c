#include "starling/collective/halving.h"

#include <cassert>

#include "starling/collective/fold.h"
#include "starling/collective/staging.h"
#include "starling/core/partition.h"

namespace starling::collective {

namespace {

// The seats' slices of a vector, and the exchange between two halves of an aligned block of them.
class HalvingBlocks {
 public:
  HalvingBlocks(Data data, std::size_t seats) : data_(data), seats_(seats) {}

  // The slices of the aligned block of `length` seats that contains `seat`.
  Data around(std::size_t seat, std::size_t length) const {
    const std::size_t first = seat & ~(length - 1);
    return data_.part(slice_of(data_.count, seats_, first).begin,
                      slice_of(data_.count, seats_, first + length - 1).end);
  }

 private:
  Data data_;
  std::size_t seats_;
};

// Each seat ends with its slice reduced over all seats. `incoming` has room for half of the data.
Task<> halve(Transport& net, const Group& group, Data data, ReduceOp op, std::span<std::byte> incoming,
             Tag tag) {
  const Fold fold(group.size());
  const HalvingBlocks blocks(data, fold.seats());
  const std::size_t seat = fold.seat_of(index_in(group, net.rank()));
  for (std::size_t distance = fold.seats() / 2; distance > 0; distance /= 2) {
    const std::size_t other = seat ^ distance;
    const Rank partner = group[fold.member_at(other)];
    const Data kept = blocks.around(seat, distance);
    auto received = net.recv(partner, tag, incoming.first(kept.size()));
    auto sent = net.send(partner, tag, blocks.around(other, distance).span());
    co_await received;
    combine_in_order(op, kept, incoming.data(), seat < other);
    co_await sent;
  }
}

// The way back: each seat starts with its own slice and ends with all.
Task<> join_halves(Transport& net, const Group& group, Data data, Tag tag) {
  const Fold fold(group.size());
  const HalvingBlocks blocks(data, fold.seats());
  const std::size_t seat = fold.seat_of(index_in(group, net.rank()));
  for (std::size_t distance = 1; distance < fold.seats(); distance *= 2) {
    const std::size_t other = seat ^ distance;
    const Rank partner = group[fold.member_at(other)];
    auto received = net.recv(partner, tag, blocks.around(other, distance).span());
    auto sent = net.send(partner, tag, blocks.around(seat, distance).span());
    co_await received;
    co_await sent;
  }
}

// Bytes of the lower half of the seats' slices, which is never the smaller one.
std::size_t half_of(Data data, std::size_t seats) {
  return slice_of(data.count, seats, seats / 2).begin * size_of(data.type);
}

}  // namespace

Task<> halving_reduce_scatter(Transport& net, const Group& group, Data data, ReduceOp op, Tag tag) {
  assert(halving_splits(group.size()));
  const transport::Memory incoming = scratch_for(net, data, half_of(data, group.size()));
  co_await halve(net, group, data, op, incoming.bytes, tag);
}

Task<> halving_all_gather(Transport& net, const Group& group, Data data, Tag tag) {
  assert(halving_splits(group.size()));
  co_await join_halves(net, group, data, tag);
}

Task<> halving_all_reduce(Transport& net, const Group& group, Data data, ReduceOp op, Tag tag) {
  const Fold fold(group.size());
  const bool folded = fold.extras() > 0;
  const transport::Memory incoming =
      scratch_for(net, data, folded ? data.size() : half_of(data, fold.seats()));
  if (folded) co_await fold_in(net, group, data, op, incoming.bytes, tag);
  if (!fold.sits_out(index_in(group, net.rank()))) {
    co_await halve(net, group, data, op, incoming.bytes, tag);
    co_await join_halves(net, group, data, tag);
  }
  if (folded) co_await fold_out(net, group, data, tag);
}

}  // namespace starling::collective
