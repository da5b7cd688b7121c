#include "starling/collective/direct.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "starling/collective/direct_meeting.h"
#include "starling/collective/direct_work.h"
#include "starling/core/error.h"
#include "starling/transport/shared_memory.h"

namespace starling::collective {

namespace {

// The location of the data during the exchange: the caller's memory, the posting's own buffer, or memory
// allocated for it.
class StagedData {
 public:
  // The start of the data in shared memory; null if there is none.
  std::byte* choose(Transport& net, const Meeting& meeting, const Data& data) {
    data_ = data;
    start_ = data.bytes;
    if (data.size() == 0) return nullptr;
    if (net.shared()->offset_of(data.span())) return start_;
    if (data.size() <= kInlineBytes) {
      start_ = meeting.inline_buffer().data();
    } else {
      staged_ = net.allocate(data.size());
      start_ = staged_.bytes.data();
    }
    std::memcpy(start_, data.bytes, data.size());
    return start_;
  }

  void copy_back() const {
    if (start_ != data_.bytes) std::memcpy(data_.bytes, start_, data_.size());
  }

 private:
  Data data_;
  std::byte* start_ = nullptr;
  transport::Memory staged_;
};

Task<> exchange(Transport& net, Group group, Contribution brings) {
  if (brings.data.ghost()) {
    throw InvalidArgument(concat("rank ", net.rank(), ": ", brings.data.size(),
                                 " bytes have a size and no memory; direct works on memory"));
  }
  brings.pieces = count_pieces(brings.task, brings.data, group.size());
  StagedData place;  // outlives the meeting, which protects it from reuse while others may write to it
  Meeting meeting(net, group, brings);
  co_await meeting.prepare();
  std::byte* const start = place.choose(net, meeting, brings.data);
  co_await meeting.convene(start);
  Work work(meeting, brings);
  co_await work.run();
  place.copy_back();
  meeting.leave();
}

}  // namespace

bool direct_possible(Transport& net, const Group& group) {
  const transport::SharedMemory* const memory = net.shared();
  return memory != nullptr &&
         std::all_of(group.begin(), group.end(), [&](Rank rank) { return memory->has(rank); });
}

Task<> direct_all_reduce(Transport& net, Group group, Data data, Reduction how, Tag tag) {
  return exchange(net, std::move(group), {DirectTask::kAllReduce, data, how, 0, tag});
}

Task<> direct_reduce_scatter(Transport& net, Group group, Data data, Reduction how, Tag tag) {
  return exchange(net, std::move(group), {DirectTask::kReduceScatter, data, how, 0, tag});
}

Task<> direct_all_gather(Transport& net, Group group, Data data, Tag tag) {
  return exchange(net, std::move(group), {DirectTask::kAllGather, data, {}, 0, tag});
}

Task<> direct_broadcast(Transport& net, Group group, Rank root, Data data, Tag tag) {
  return exchange(net, std::move(group), {DirectTask::kBroadcast, data, {}, root, tag});
}

Task<> direct_barrier(Transport& net, Group group, Tag tag) {
  return exchange(net, std::move(group), {DirectTask::kBarrier, {}, {}, 0, tag});
}

}  // namespace starling::collective
