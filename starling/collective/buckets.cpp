#include "starling/collective/buckets.h"

#include <algorithm>

#include "starling/core/hash.h"

namespace starling::collective {
namespace {

// Adds the section in front of the last bucket if `fits` says so and there is no gap; otherwise begins
// another bucket and returns true.
template <class Fits>
bool add(Buckets& buckets, std::span<const Slice> sections, std::size_t section, Fits fits) {
  const Slice place = sections[section];
  const bool joins = !buckets.empty() && place.end == buckets.back().elements.begin && fits(buckets.back());
  if (!joins) buckets.push_back({{place.end, place.end}, {section + 1, section + 1}});
  buckets.back().elements.begin = place.begin;
  buckets.back().sections.begin = section;
  return !joins;
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

// From the back sizes may double, and at the front each bucket may have half of the rest.
Buckets taper_buckets(std::span<const Slice> sections, std::size_t most, std::size_t edge) {
  std::size_t left = 0;
  for (const Slice& section : sections) left += section.size();
  Buckets buckets;
  std::size_t grown = edge, limit = 0;
  for (std::size_t i = sections.size(); i-- > 0;) {
    const bool another = add(buckets, sections, i, [&](const Bucket& last) {
      return last.elements.size() + sections[i].size() <= limit;
    });
    if (another) {
      limit = std::min({most, grown, std::max(edge, left / 2)});
      grown = std::min(most, 2 * grown);
    }
    left -= sections[i].size();
  }
  return buckets;
}

void split_front(Buckets& buckets, std::span<const Slice> sections, std::size_t most) {
  if (buckets.empty()) return;
  Bucket& last = buckets.back();
  std::size_t cut = last.sections.begin;
  while (cut < last.sections.end && sections[cut].end - last.elements.begin <= most) ++cut;
  if (cut == last.sections.begin || cut == last.sections.end) return;
  const Bucket front{{last.elements.begin, sections[cut].begin}, {last.sections.begin, cut}};
  last.elements.begin = front.elements.end;
  last.sections.begin = cut;
  buckets.push_back(front);
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

Buckets merge_buckets(std::span<const Slice> sections, std::span<const double> ready, const LinkCost& cost) {
  Buckets buckets;
  double line_free = 0;  // when the earlier transfers are over
  for (std::size_t i = sections.size(); i-- > 0;) {
    double end = 0;
    bool in_time = false;
    if (!buckets.empty()) {
      const Bucket& last = buckets.back();
      const double start = std::max(line_free, ready[last.sections.begin]);
      end = start + cost.alpha + static_cast<double>(last.elements.size() * sizeof(float)) * cost.beta;
      in_time = ready[i] < end && (start > ready[i] || ready[i] - start < cost.alpha);
    }
    const bool another = add(buckets, sections, i, [&](const Bucket& last) {
      return in_time || last.elements.size() < kAlwaysMerged;
    });
    if (another) line_free = end;
  }
  return buckets;
}

std::uint64_t hash_of(const Buckets& buckets, std::uint64_t more) {
  std::vector<std::uint64_t> words{more};
  for (const Bucket& bucket : buckets) {
    words.insert(words.end(),
                 {bucket.elements.begin, bucket.elements.end, bucket.sections.begin, bucket.sections.end});
  }
  return starling::hash_of(std::as_bytes(std::span(words)));
}

}  // namespace starling::collective
