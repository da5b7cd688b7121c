#include "starling/collective/buckets.h"

namespace starling::collective {

std::vector<Bucket> cut_in_buckets(std::span<const Slice> sections, std::size_t enough) {
  std::vector<Bucket> buckets;
  for (std::size_t i = sections.size(); i-- > 0;) {
    const bool fits = !buckets.empty() && buckets.back().elements.size() < enough &&
                      sections[i].end == buckets.back().elements.begin;
    if (!fits) buckets.push_back({{sections[i].end, sections[i].end}, {i + 1, i + 1}});
    buckets.back().elements.begin = sections[i].begin;
    buckets.back().sections.begin = i;
  }
  return buckets;
}

}  // namespace starling::collective
