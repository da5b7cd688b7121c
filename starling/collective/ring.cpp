#include "starling/collective/ring.h"

#include "starling/collective/staging.h"
#include "starling/core/partition.h"

namespace starling::collective {

namespace {

// A member's position: its neighbours, and the slices counted from its own one to the left.
class Block {
 public:
  Block(const Transport& net, const Group& group, Data data)
      : data_(data), members_(group.size()), index_(index_in(group, net.rank())) {
    left_ = group[(index_ + members_ - 1) % members_];
    right_ = group[(index_ + 1) % members_];
  }

  Rank left() const { return left_; }
  Rank right() const { return right_; }
  std::size_t members() const { return members_; }

  // The slice of the member `distance` positions to the left, at most one whole turn.
  Data slice(std::size_t distance) const {
    const Slice range = slice_of(data_.count, members_, (index_ + members_ - distance) % members_);
    return data_.part(range.begin, range.end);
  }

 private:
  Data data_;
  std::size_t members_;
  std::size_t index_;
  Rank left_ = 0;
  Rank right_ = 0;
};

// mine = received op mine: the received part covers the members before this one.
void append(ReduceOp op, Data mine, const std::byte* received) {
  if (mine.ghost()) return;
  const std::byte* const sources[] = {received, mine.bytes};
  const Combine how{.op = op};
  combine(mine.type, how, mine.bytes, sources, mine.count);
}

}  // namespace

Task<> ring_reduce_scatter(Transport& net, const Group& group, Data data, ReduceOp op, Tag tag) {
  const Block place(net, group, data);
  const std::size_t largest = slice_of(data.count, place.members(), 0).size();
  const transport::Memory incoming = scratch_for(net, data, largest * size_of(data.type));
  for (std::size_t step = 1; step < place.members(); ++step) {
    const Data outgoing = place.slice(step);
    const Data mine = place.slice(step + 1);
    // Both are posted before either is awaited: waiting in turn would deadlock as soon as a slice no longer
    // fits the transport's queue.
    auto received = net.recv(place.left(), tag, incoming.bytes.first(mine.size()));
    auto sent = net.send(place.right(), tag, outgoing.span());
    co_await received;
    append(op, mine, incoming.bytes.data());
    co_await sent;
  }
}

Task<> ring_all_gather(Transport& net, const Group& group, Data data, Tag tag) {
  const Block place(net, group, data);
  for (std::size_t step = 0; step + 1 < place.members(); ++step) {
    auto received = net.recv(place.left(), tag, place.slice(step + 1).span());
    auto sent = net.send(place.right(), tag, place.slice(step).span());
    co_await received;
    co_await sent;
  }
}

Task<> ring_all_reduce(Transport& net, const Group& group, Data data, ReduceOp op, Tag tag) {
  co_await ring_reduce_scatter(net, group, data, op, tag);
  co_await ring_all_gather(net, group, data, tag);
}

}  // namespace starling::collective
