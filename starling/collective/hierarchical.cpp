#include "starling/collective/hierarchical.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "starling/collective/direct.h"
#include "starling/collective/doubling.h"
#include "starling/collective/ring.h"
#include "starling/collective/staging.h"
#include "starling/core/partition.h"
#include "starling/core/text.h"
#include "starling/runtime/scope.h"

namespace starling::collective {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{4} << 20;
constexpr int kWindow = 3;  // chunks under way: one on the link, one before and one behind it

// Each chunk has a tag of its own, which nobody else is likely to use: chunks overtake each other.
Tag chunk_tag(Tag tag, std::size_t chunk) {
  Tag mixed = (tag ^ 0x7c15bf58476d1ce4ULL) * 0x9e3779b97f4a7c15ULL + chunk;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  return mixed ^ (mixed >> 27);
}

// The members host by host; the hosts, and the members of each, in the order of the group.
struct Layout {
  std::vector<Group> hosts;
  std::size_t host = 0;  // of this member
  std::size_t seat = 0;  // its place there

  Layout(const Transport& net, const Group& group) {
    std::map<int, std::size_t> places;
    for (const Rank rank : group) {
      const auto [found, is_new] = places.emplace(net.host_of(rank), hosts.size());
      if (is_new) hosts.emplace_back();
      if (rank == net.rank()) {
        host = found->second;
        seat = hosts[host].size();
      }
      hosts[found->second].push_back(rank);
    }
  }
  const Group& local() const { return hosts[host]; }
  // The part of a host's block that a member has after the local half.
  Slice part(Slice block, std::size_t of_host, std::size_t of_seat) const {
    const Slice slice = slice_of(block.size(), hosts[of_host].size(), of_seat);
    return {block.begin + slice.begin, block.begin + slice.end};
  }
};

using Blocks = std::vector<Slice>;  // by host

Blocks equal_blocks(const Layout& layout, std::size_t count) {
  Blocks blocks;
  for (std::size_t host = 0; host < layout.hosts.size(); ++host)
    blocks.push_back(slice_of(count, layout.hosts.size(), host));
  return blocks;
}

// Of members that stand together. Slices become no larger from one member to the next, so those of a block
// are the slices of its members.
Blocks blocks_of_members(const Layout& layout, std::size_t members, std::size_t count) {
  Blocks blocks;
  std::size_t first = 0;
  for (const Group& host : layout.hosts) {
    const std::size_t last = first + host.size() - 1;
    blocks.push_back({slice_of(count, members, first).begin, slice_of(count, members, last).end});
    first = last + 1;
  }
  return blocks;
}

Slice overlap(Slice a, Slice b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

Reduction reduction_of(ReduceOp op) {
  if (op == ReduceOp::kSum) return Reduction::sum();
  return op == ReduceOp::kMin ? Reduction::min() : Reduction::max();
}

// Data in blocks, on its way through both levels.
class Passage {
 public:
  Passage(Transport& net, const Layout& layout, Blocks blocks, Data data, ReduceOp op, Tag tag)
      : net_(net), layout_(layout), blocks_(std::move(blocks)), data_(data), op_(op), tag_(tag) {}

  Task<> reduce() {
    co_await reduce_locally();
    co_await reduce_between_hosts();
  }
  Task<> gather() {
    co_await gather_between_hosts();
    co_await gather_locally();
  }

 private:
  Slice block(std::size_t host) const { return blocks_[host]; }
  Slice own_part(std::size_t host) const { return layout_.part(block(host), layout_.host, layout_.seat); }
  Data at(Slice slice) const { return data_.part(slice.begin, slice.end); }

  Task<> reduce_locally();
  Task<> gather_locally();
  Task<> reduce_between_hosts();
  Task<> gather_between_hosts();

  // Calls visit(rank, slice) for what this member and those of another host have in common of a block.
  template <class Visitor>
  void meet(std::size_t other, std::size_t of_block, Visitor visit) const {
    for (std::size_t seat = 0; seat < layout_.hosts[other].size(); ++seat) {
      const Slice common = overlap(own_part(of_block), layout_.part(block(of_block), other, seat));
      if (common.size() > 0) visit(layout_.hosts[other][seat], common);
    }
  }

  Transport& net_;
  const Layout& layout_;
  Blocks blocks_;
  Data data_;
  ReduceOp op_;
  Tag tag_;
};

Task<> Passage::reduce_locally() {
  if (layout_.local().size() == 1) co_return;
  const bool direct = direct_possible(net_, layout_.local());
  for (std::size_t host = 0; host < layout_.hosts.size(); ++host) {
    const Data part = at(block(host));
    Task<> half = direct ? direct_reduce_scatter(net_, layout_.local(), part, reduction_of(op_), tag_)
                         : ring_reduce_scatter(net_, layout_.local(), part, op_, tag_);
    co_await half;
  }
}

Task<> Passage::gather_locally() {
  if (layout_.local().size() == 1) co_return;
  const bool direct = direct_possible(net_, layout_.local());
  for (std::size_t host = 0; host < layout_.hosts.size(); ++host) {
    const Data part = at(block(host));
    Task<> half = direct ? direct_all_gather(net_, layout_.local(), part, tag_)
                         : ring_all_gather(net_, layout_.local(), part, tag_);
    co_await half;
  }
}

// Every host's part of what is ours comes here, and ours of what is theirs goes there.
Task<> Passage::reduce_between_hosts() {
  const Slice own = own_part(layout_.host);
  const std::size_t bytes = own.size() * size_of(data_.type);
  const std::size_t hosts = layout_.hosts.size();
  const transport::Memory memory = scratch_for(net_, data_, (hosts - 1) * bytes);
  std::vector<const std::byte*> parts;
  std::deque<transport::Receiving> received;
  std::deque<transport::Sending> sent;
  for (std::size_t other = 0, place = 0; other < hosts; ++other) {
    if (other == layout_.host) {
      parts.push_back(at(own).bytes);
      continue;
    }
    const Data incoming(data_.ghost() ? nullptr : memory.bytes.data() + place++ * bytes, own.size(),
                        data_.type);
    parts.push_back(incoming.bytes);
    meet(other, layout_.host, [&](Rank rank, Slice common) {
      const Data piece = incoming.part(common.begin - own.begin, common.end - own.begin);
      received.emplace_back(net_, rank, tag_, piece.span());
    });
    meet(other, other,
         [&](Rank rank, Slice common) { sent.emplace_back(net_, rank, tag_, at(common).span()); });
  }
  for (auto& receiving : received) co_await receiving;
  const Combine how{.op = op_};
  if (!data_.ghost() && own.size() > 0) combine(data_.type, how, at(own).bytes, parts, own.size());
  for (auto& sending : sent) co_await sending;
}

Task<> Passage::gather_between_hosts() {
  std::deque<transport::Receiving> received;
  std::deque<transport::Sending> sent;
  for (std::size_t other = 0; other < layout_.hosts.size(); ++other) {
    if (other == layout_.host) continue;
    meet(other, other,
         [&](Rank rank, Slice common) { received.emplace_back(net_, rank, tag_, at(common).span()); });
    meet(other, layout_.host,
         [&](Rank rank, Slice common) { sent.emplace_back(net_, rank, tag_, at(common).span()); });
  }
  for (auto& receiving : received) co_await receiving;
  for (auto& sending : sent) co_await sending;
}

Task<> broadcast_locally(Transport& net, const Group& local, Rank root, Data data, Tag tag) {
  if (local.size() == 1) co_return;
  Task<> call = direct_possible(net, local) ? direct_broadcast(net, local, root, data, tag)
                                            : tree_broadcast(net, local, root, data, tag);
  co_await call;
}

// Results are written as chunks are done; what was there before comes back unless all of them are.
class Undo {
 public:
  Undo(Data data, std::size_t chunks) : data_(data), old_(data.ghost() ? 0 : chunks) {}
  ~Undo() {
    for (const auto& [begin, bytes] : old_) std::copy(bytes.begin(), bytes.end(), data_.bytes + begin);
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  void keep(std::size_t chunk, Data part) {
    if (part.ghost()) return;
    const std::span<const std::byte> bytes = part.span();
    old_[chunk] = {static_cast<std::size_t>(part.bytes - data_.bytes), {bytes.begin(), bytes.end()}};
  }
  void forget() { old_.clear(); }

 private:
  struct Old {
    std::size_t begin = 0;
    std::vector<std::byte> bytes;
  };
  Data data_;
  std::vector<Old> old_;
};

struct Call {
  Transport& net;
  Layout layout;
  Data data;
  Reduction how;
  double divisor;
  Tag tag;
  std::size_t chunks;
  Undo undo;
  std::size_t next = 0;
};

// Takes one chunk after the other. Which lane takes which does not matter: each has a tag of its own.
Task<> run_lane(Call& call) {
  while (call.next < call.chunks) {
    const std::size_t number = call.next++;
    const Slice slice = slice_of(call.data.count, call.chunks, number);
    const Data part = call.data.part(slice.begin, slice.end);
    Stage stage(call.net, part, call.how);
    Passage passage(call.net, call.layout, equal_blocks(call.layout, part.count), stage.copy(),
                    operation_of(call.how), chunk_tag(call.tag, number));
    co_await passage.reduce();
    co_await passage.gather();
    call.undo.keep(number, part);
    stage.write_back(0, part.count, call.divisor);
  }
}

}  // namespace

bool hierarchical_possible(const Transport& net, const Group& group) {
  std::set<int> hosts;
  for (const Rank rank : group) hosts.insert(net.host_of(rank));
  return hosts.size() > 1 && hosts.size() < group.size();
}

bool hierarchical_halves_possible(const Transport& net, const Group& group) {
  std::set<int> seen;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const int host = net.host_of(group[i]);
    const bool begins = i == 0 || host != net.host_of(group[i - 1]);
    if (begins && !seen.insert(host).second) return false;
  }
  return seen.size() > 1 && seen.size() < group.size();
}

Task<> hierarchical_all_reduce(Transport& net, const Group& group, Data data, Reduction how, Tag tag) {
  const double divisor = co_await exchange_divisor(net, group, data.type, how, tag);
  const std::size_t chunks = std::max<std::size_t>(1, data.size() / kChunkBytes);
  Call call{net, Layout(net, group), data, how, divisor, tag, chunks, Undo(data, chunks)};
  runtime::Scope lanes(co_await runtime::this_context());
  for (int lane = 0; lane < kWindow; ++lane) lanes.spawn(run_lane(call), concat("chunks ", lane));
  co_await lanes.join();
  call.undo.forget();
}

Task<> hierarchical_reduce_scatter(Transport& net, const Group& group, Data data, Reduction how, Tag tag) {
  const double divisor = co_await exchange_divisor(net, group, data.type, how, tag);
  const Layout layout(net, group);
  Stage stage(net, data, how);
  Passage passage(net, layout, blocks_of_members(layout, group.size(), data.count), stage.copy(),
                  operation_of(how), tag);
  co_await passage.reduce();
  const Slice own = slice_of(data.count, group.size(), index_in(group, net.rank()));
  stage.write_back(own.begin, own.end, divisor);
}

Task<> hierarchical_all_gather(Transport& net, const Group& group, Data data, Tag tag) {
  const Layout layout(net, group);
  Passage passage(net, layout, blocks_of_members(layout, group.size(), data.count), data, ReduceOp::kSum,
                  tag);
  co_await passage.gather();
}

Task<> hierarchical_broadcast(Transport& net, const Group& group, Rank root, Data data, Tag tag) {
  const Layout layout(net, group);
  const int from = net.host_of(root);
  const bool at_source = net.host_of(net.rank()) == from;
  std::size_t lanes = group.size();
  for (const Group& host : layout.hosts) lanes = std::min(lanes, host.size());
  if (at_source) co_await broadcast_locally(net, layout.local(), root, data, tag);
  if (layout.seat < lanes) {
    Group column;
    for (const Group& host : layout.hosts) column.push_back(host[layout.seat]);
    const auto source =
        std::find_if(column.begin(), column.end(), [&](Rank r) { return net.host_of(r) == from; });
    const Slice lane = slice_of(data.count, lanes, layout.seat);
    co_await tree_broadcast(net, column, *source, data.part(lane.begin, lane.end), tag);
  }
  for (std::size_t seat = 0; seat < lanes && !at_source; ++seat) {
    const Slice lane = slice_of(data.count, lanes, seat);
    co_await broadcast_locally(net, layout.local(), layout.local()[seat], data.part(lane.begin, lane.end),
                               tag);
  }
}

}  // namespace starling::collective
