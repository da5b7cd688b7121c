#include "starling/strategy/schedule/horovod_schedule.h"

#include <algorithm>

#include "starling/runtime/deadline.h"

namespace starling::strategy {

void HorovodSchedule::opened() {
  ready_.assign(buckets().size(), 0);
  sent_.assign(buckets().size(), false);
  transfers().beside(cycle_through(), "the cycles");
}

Task<> HorovodSchedule::cycle_through() {
  while (std::find(sent_.begin(), sent_.end(), false) != sent_.end()) {
    co_await runtime::sleep_for(cycle_);
    co_await agree_on_ready();
    for (std::size_t begin = 0; begin < sent_.size();) {
      std::size_t end = begin, elements = 0;
      // Neighbours that fit the buffer; a section that does not fit goes alone.
      while (end < sent_.size() && !sent_[end] && common_[end] == 1 &&
             (end == begin || elements + buckets()[end].elements.size() <= buffer_) &&
             (end == begin || buckets()[end].elements.end == buckets()[end - 1].elements.begin)) {
        elements += buckets()[end++].elements.size();
      }
      const Slice together{begin, end};
      if (!together.empty()) co_await send(together);
      begin = std::max(end, begin + 1);
    }
  }
}

Task<> HorovodSchedule::agree_on_ready() {
  common_ = ready_;
  const Data flags{std::span<float>(common_)};
  co_await agreed().all_reduce(flags, collective::Reduction::min());
}

Task<> HorovodSchedule::send(Slice together) {
  const Slice part{buckets()[together.end - 1].elements.begin, buckets()[together.begin].elements.end};
  const Slice sections{buckets()[together.end - 1].sections.begin, buckets()[together.begin].sections.end};
  const Transfer transfer = average(part, sections, setting().algorithm);
  co_await agreed().in_order(
      *transfer.result, [&](const ExchangeTerms& terms, Tag tag) { return exchange(transfer, terms, tag); });
  for (std::size_t b = together.begin; b < together.end; ++b) {
    sent_[b] = true;
    arrive(b);
  }
  transfers().news().pulse();
}

}  // namespace starling::strategy
