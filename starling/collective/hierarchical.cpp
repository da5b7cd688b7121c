#include "starling/collective/hierarchical.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "starling/collective/direct.h"
#include "starling/collective/doubling.h"
#include "starling/collective/staging.h"
#include "starling/collective/two_level_transfer.h"
#include "starling/core/partition.h"
#include "starling/core/text.h"
#include "starling/runtime/scope.h"

namespace starling::collective {

namespace {

// The bytes that a member sends to another at a time. Small enough that little is left to wait for when the
// link runs dry, at the beginning and at the end; large enough that the cost per message is small.
constexpr std::size_t kHierarchicalPieceBytes = std::size_t{128} << 10;
constexpr int kWindow = 8;  // chunks in progress, so that there is always one for the link

// Where nobody shares a host, every member sends to every other.
constexpr std::size_t kMostAlone = 8;

// Each chunk has a tag of its own, which nobody else is likely to use: chunks overtake each other.
Tag chunk_tag(Tag tag, std::size_t chunk) {
  Tag mixed = (tag ^ 0x7c15bf58476d1ce4ULL) * 0x9e3779b97f4a7c15ULL + chunk;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  return mixed ^ (mixed >> 27);
}

// Data in chunks, of which a few are under way at once.
struct Chunks {
  Data data;
  std::size_t count;
  std::function<Task<>(std::size_t number, Data chunk)> work;
  std::size_t next = 0;
};

std::size_t chunks_of(Data data, std::size_t pieces) {
  return std::max<std::size_t>(1, data.size() / (kHierarchicalPieceBytes * pieces));
}

// Takes one chunk after the other. Which lane takes which does not matter.
Task<> run_lane(Chunks& chunks) {
  while (chunks.next < chunks.count) {
    const std::size_t number = chunks.next++;
    const Slice slice = slice_of(chunks.data.count, chunks.count, number);
    co_await chunks.work(number, chunks.data.part(slice.begin, slice.end));
  }
}

Task<> run_all(Chunks& chunks) {
  runtime::Scope lanes(co_await runtime::this_context());
  for (int lane = 0; lane < kWindow; ++lane) lanes.spawn(run_lane(chunks), concat("chunks ", lane));
  co_await lanes.join();
}

// Results are written as chunks are done; what was there before comes back unless all of them are.
class Undo {
 public:
  explicit Undo(Transport& net) : net_(net) {}
  ~Undo() {
    for (const Old& old : old_) std::copy_n(old.copy.bytes.data(), old.chunk.size(), old.chunk.bytes);
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  void keep(Data chunk) {
    if (chunk.ghost()) return;
    // The transport's memory has been used before: that of the heap is new every time, page by page.
    old_.push_back({chunk, net_.allocate(chunk.size())});
    std::copy_n(chunk.bytes, chunk.size(), old_.back().copy.bytes.data());
  }
  void forget() { old_.clear(); }

 private:
  struct Old {
    Data chunk;
    transport::Memory copy;
  };
  Transport& net_;
  std::vector<Old> old_;
};

Task<> broadcast_locally(Transport& net, const Group& local, Rank root, Data data, Tag tag) {
  if (local.size() == 1) co_return;
  Task<> call = direct_possible(net, local) ? direct_broadcast(net, local, root, data, tag)
                                            : tree_broadcast(net, local, root, data, tag);
  co_await call;
}

// From member to member, beginning with `root`: of many chunks in a row each member passes one on while the
// next one comes, so that it sends them once, while the root of a tree sends them to each of its children.
Task<> pass_along(Transport& net, const Group& group, std::size_t root, Data data, Tag tag) {
  const std::size_t members = group.size();
  const std::size_t place = (index_in(group, net.rank()) + members - root) % members;
  const auto at = [&](std::size_t k) { return group[(root + k) % members]; };
  if (place > 0) co_await net.recv(at(place - 1), tag, data.span());
  if (place + 1 < members) co_await net.send(at(place + 1), tag, data.span());
}

// Within the root's host, in `lanes` slices between hosts, each driven by a member, and within the others.
Task<> broadcast_chunk(Transport& net, const HostView& view, bool alone, HostLayout::Seat root, Data data,
                       Tag tag) {
  const std::size_t lanes = view.layout->smallest;
  const auto lane = [&](std::size_t seat) {
    const Slice slice = slice_of(data.count, lanes, seat);
    return data.part(slice.begin, slice.end);
  };
  if (view.host == root.host) {
    co_await broadcast_locally(net, view.local(), view.local()[root.place], data, tag);
  }
  if (view.seat < lanes) {
    Group column;
    for (const Group& host : view.hosts()) column.push_back(host[view.seat]);
    Task<> between = alone ? tree_broadcast(net, column, column[root.host], lane(view.seat), tag)
                           : pass_along(net, column, root.host, lane(view.seat), tag);
    co_await between;
  }
  if (view.host == root.host) co_return;
  for (std::size_t seat = 0; seat < lanes; ++seat)
    co_await broadcast_locally(net, view.local(), view.local()[seat], lane(seat), tag);
}

}  // namespace

bool spans_hosts(const Transport& net, const SharedGroup& group) {
  return net.hosts() && group.layout(net.hosts())->hosts.size() > 1;
}

bool hierarchical_suits(const Transport& net, const SharedGroup& group) {
  if (!spans_hosts(net, group)) return false;
  return group.size() <= kMostAlone || group.layout(net.hosts())->two_levels();
}

bool hierarchical_halves_possible(const Transport& net, const SharedGroup& group) {
  return spans_hosts(net, group) && group.layout(net.hosts())->together;
}

Task<> hierarchical_all_reduce(Transport& net, SharedGroup group, Data data, Reduction how, Tag tag) {
  const double divisor = co_await exchange_divisor(net, group, data.type, how, tag);
  const HostView view(net, group);
  Undo undo(net);
  const auto reduce = [&](std::size_t number, Data chunk) -> Task<> {
    Stage stage(net, chunk, how);
    TwoLevelTransfer transfer(net, view, equal_blocks(view, chunk.count), stage.copy(), operation_of(how),
                              chunk_tag(tag, number));
    co_await transfer.reduce();
    co_await transfer.gather();
    undo.keep(chunk);
    stage.write_back(0, chunk.count, divisor);
  };
  Chunks chunks{data, chunks_of(data, view.hosts().size() * view.layout->largest), reduce};
  co_await run_all(chunks);
  undo.forget();
}

Task<> hierarchical_reduce_scatter(Transport& net, SharedGroup group, Data data, Reduction how, Tag tag) {
  const double divisor = co_await exchange_divisor(net, group, data.type, how, tag);
  const HostView view(net, group);
  Stage stage(net, data, how);
  TwoLevelTransfer transfer(net, view, blocks_of_members(view, data.count), stage.copy(), operation_of(how),
                            tag);
  co_await transfer.reduce();
  const Slice own = slice_of(data.count, group.size(), index_in(group, net.rank()));
  stage.write_back(own.begin, own.end, divisor);
}

Task<> hierarchical_all_gather(Transport& net, SharedGroup group, Data data, Tag tag) {
  const HostView view(net, group);
  TwoLevelTransfer transfer(net, view, blocks_of_members(view, data.count), data, ReduceOp::kSum, tag);
  co_await transfer.gather();
}

Task<> hierarchical_broadcast(Transport& net, SharedGroup group, Rank root, Data data, Tag tag) {
  const HostView view(net, group);
  const HostLayout::Seat source = view.layout->seats[index_in(group, root)];
  const std::size_t count = chunks_of(data, view.layout->largest);
  const auto pass_on = [&](std::size_t number, Data chunk) {
    return broadcast_chunk(net, view, count == 1, source, chunk, chunk_tag(tag, number));
  };
  Chunks chunks{data, count, pass_on};
  co_await run_all(chunks);
}

}  // namespace starling::collective
