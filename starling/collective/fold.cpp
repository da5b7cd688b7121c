#include "starling/collective/fold.h"

namespace starling::collective {

Task<> fold_in(Transport& net, const Group& group, Data data, ReduceOp op, std::span<std::byte> incoming,
               Tag tag) {
  const std::size_t self = index_in(group, net.rank());
  const Fold fold(group.size());
  if (!fold.has_partner(self)) co_return;
  if (fold.sits_out(self)) {
    co_await net.send(group[self - 1], tag, data.span());
  } else {
    co_await net.recv(group[self + 1], tag, incoming.first(data.size()));
    combine_in_order(op, data, incoming.data(), true);
  }
}

Task<> fold_out(Transport& net, const Group& group, Data data, Tag tag) {
  const std::size_t self = index_in(group, net.rank());
  const Fold fold(group.size());
  if (!fold.has_partner(self)) co_return;
  if (fold.sits_out(self)) {
    co_await net.recv(group[self - 1], tag, data.span());
  } else {
    co_await net.send(group[self + 1], tag, data.span());
  }
}

void combine_in_order(ReduceOp op, Data mine, const std::byte* theirs, bool mine_first) {
  if (mine.ghost()) return;
  const std::byte* const first = mine_first ? mine.bytes : theirs;
  const std::byte* const second = mine_first ? theirs : mine.bytes;
  const std::byte* const sources[] = {first, second};
  const Combine how{.op = op};
  combine(mine.type, how, mine.bytes, sources, mine.count);
}

}  // namespace starling::collective
