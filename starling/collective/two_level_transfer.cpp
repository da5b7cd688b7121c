#include "starling/collective/two_level_transfer.h"

#include <algorithm>
#include <deque>

#include "starling/collective/direct.h"
#include "starling/collective/ring.h"
#include "starling/collective/staging.h"

namespace starling::collective {

namespace {

using Receives = std::deque<transport::Receiving>;
using Sends = std::deque<transport::Sending>;

Slice overlap(Slice a, Slice b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

Reduction reduction_of(ReduceOp op) {
  if (op == ReduceOp::kSum) return Reduction::sum();
  return op == ReduceOp::kMin ? Reduction::min() : Reduction::max();
}

}  // namespace

HostView::HostView(const Transport& net, const SharedGroup& group) : layout(group.layout(net.hosts())) {
  const HostLayout::Seat own = layout->seats[index_in(group, net.rank())];
  host = own.host;
  seat = own.place;
}

Slice HostView::part(Slice block, std::size_t of_host, std::size_t of_seat) const {
  const Slice slice = slice_of(block.size(), hosts()[of_host].size(), of_seat);
  return {block.begin + slice.begin, block.begin + slice.end};
}

Blocks equal_blocks(const HostView& view, std::size_t count) {
  Blocks blocks;
  for (std::size_t host = 0; host < view.hosts().size(); ++host)
    blocks.push_back(slice_of(count, view.hosts().size(), host));
  return blocks;
}

// Slices become no larger from one member to the next, so those of a block are the slices of its members.
Blocks blocks_of_members(const HostView& view, std::size_t count) {
  const std::size_t members = view.layout->seats.size();
  Blocks blocks;
  std::size_t first = 0;
  for (const Group& host : view.hosts()) {
    const std::size_t last = first + host.size() - 1;
    blocks.push_back({slice_of(count, members, first).begin, slice_of(count, members, last).end});
    first = last + 1;
  }
  return blocks;
}

template <class Visitor>
void TwoLevelTransfer::meet(std::size_t host, std::size_t of_block, Visitor visit) const {
  for (std::size_t seat = 0; seat < view_.hosts()[host].size(); ++seat) {
    const Slice common = overlap(own_part(of_block), view_.part(blocks_[of_block], host, seat));
    if (common.size() > 0) visit(view_.hosts()[host][seat], common);
  }
}

Task<> TwoLevelTransfer::reduce_locally(std::size_t of_block) {
  const Group& local = view_.local();
  if (local.size() == 1) co_return;
  const Data block = at(blocks_[of_block]);
  Task<> half = direct_possible(net_, local)
                    ? direct_reduce_scatter(net_, local, block, reduction_of(op_), tag_)
                    : ring_reduce_scatter(net_, local, block, op_, tag_);
  co_await half;
}

Task<> TwoLevelTransfer::gather_locally(std::size_t of_block) {
  const Group& local = view_.local();
  if (local.size() == 1) co_return;
  const Data block = at(blocks_[of_block]);
  Task<> half = direct_possible(net_, local) ? direct_all_gather(net_, local, block, tag_)
                                             : ring_all_gather(net_, local, block, tag_);
  co_await half;
}

Task<> TwoLevelTransfer::reduce() {
  const std::size_t hosts = view_.hosts().size();
  const Slice own = own_part(view_.host);
  const std::size_t bytes = own.size() * size_of(data_.type);
  const transport::Memory memory = scratch_for(net_, data_, (hosts - 1) * bytes);
  std::vector<const std::byte*> parts(hosts, at(own).bytes);  // by host
  Receives received;
  Sends sent;
  for (std::size_t k = 1; k < hosts; ++k) {
    std::byte* const start = data_.ghost() ? nullptr : memory.bytes.data() + (k - 1) * bytes;
    const Data incoming(start, own.size(), data_.type);
    parts[other(k)] = incoming.bytes;
    meet(other(k), view_.host, [&](Rank rank, Slice common) {
      const Data piece = incoming.part(common.begin - own.begin, common.end - own.begin);
      received.emplace_back(net_, rank, tag_, piece.span());
    });
  }
  for (std::size_t k = 1; k < hosts; ++k) {
    co_await reduce_locally(other(k));
    meet(other(k), other(k),
         [&](Rank rank, Slice common) { sent.emplace_back(net_, rank, tag_, at(common).span()); });
  }
  co_await reduce_locally(view_.host);
  for (auto& receiving : received) co_await receiving;
  const Combine how{.op = op_};
  if (!data_.ghost() && own.size() > 0) combine(data_.type, how, at(own).bytes, parts, own.size());
  for (auto& sending : sent) co_await sending;
}

Task<> TwoLevelTransfer::gather() {
  const std::size_t hosts = view_.hosts().size();
  std::vector<Receives> received(hosts);
  Sends sent;
  for (std::size_t k = 1; k < hosts; ++k) {
    meet(other(k), other(k), [&](Rank rank, Slice common) {
      received[other(k)].emplace_back(net_, rank, tag_, at(common).span());
    });
    meet(other(k), view_.host,
         [&](Rank rank, Slice common) { sent.emplace_back(net_, rank, tag_, at(common).span()); });
  }
  co_await gather_locally(view_.host);
  for (std::size_t k = 1; k < hosts; ++k) {
    for (auto& receiving : received[other(k)]) co_await receiving;
    co_await gather_locally(other(k));
  }
  for (auto& sending : sent) co_await sending;
}

}  // namespace starling::collective
