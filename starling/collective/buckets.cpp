#include "starling/collective/buckets.h"

#include <algorithm>

namespace starling::collective {
namespace {

// Adds the section in front of the last bucket if `fits` says so and nothing lies between, else begins
// another.
template <class Fits>
void add(Buckets& buckets, std::span<const Slice> sections, std::size_t section, Fits fits) {
  const Slice place = sections[section];
  const bool joins = !buckets.empty() && place.end == buckets.back().elements.begin && fits(buckets.back());
  if (!joins) buckets.push_back({{place.end, place.end}, {section + 1, section + 1}});
  buckets.back().elements.begin = place.begin;
  buckets.back().sections.begin = section;
}

}  // namespace

Buckets fill_buckets(std::span<const Slice> sections, std::size_t enough, std::size_t first_enough) {
  Buckets buckets;
  for (std::size_t i = sections.size(); i-- > 0;) {
    add(buckets, sections, i, [&](const Bucket& last) {
      return last.elements.size() < (buckets.size() == 1 ? first_enough : enough);
    });
  }
  return buckets;
}

// From the back they may double, and at the front each may have half of what is left.
Buckets taper_buckets(std::span<const Slice> sections, std::size_t most, std::size_t edge) {
  std::size_t left = 0;
  for (const Slice& section : sections) left += section.size();
  Buckets buckets;
  std::size_t grown = edge, limit = 0;
  for (std::size_t i = sections.size(); i-- > 0;) {
    const std::size_t count = buckets.size();
    add(buckets, sections, i,
        [&](const Bucket& last) { return last.elements.size() + sections[i].size() <= limit; });
    if (buckets.size() > count) {
      limit = std::min({most, grown, std::max(edge, left / 2)});
      grown = std::min(most, 2 * grown);
    }
    left -= sections[i].size();
  }
  return buckets;
}

Buckets cut_in_pieces(std::span<const Slice> sections, std::size_t most) {
  Buckets buckets;
  for (std::size_t i = sections.size(); i-- > 0;) {
    const std::size_t pieces = (sections[i].size() + most - 1) / most;
    for (std::size_t piece = pieces; piece-- > 0;) {
      const Slice part = slice_of(sections[i].size(), pieces, piece);
      buckets.push_back({{sections[i].begin + part.begin, sections[i].begin + part.end}, {i, i + 1}});
    }
  }
  return buckets;
}

std::uint64_t hash_of(const Buckets& buckets, std::uint64_t more) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  std::uint64_t hash = (more + buckets.size()) * kOdd;
  for (const Bucket& bucket : buckets) {
    for (const std::size_t value :
         {bucket.elements.begin, bucket.elements.end, bucket.sections.begin, bucket.sections.end}) {
      hash = (hash ^ value) * kOdd;
      hash ^= hash >> 32;
    }
  }
  return hash;
}

}  // namespace starling::collective
