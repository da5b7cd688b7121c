// Gradients are sent in buckets: small tensors together, so that not each pays the latency of a collective,
// and the model in several parts, so that the first are on their way while others are computed (Li et al.,
// "PyTorch Distributed: experiences on accelerating data parallel training", VLDB 2020).
//
// The rules below take the slices of a model's tensors in the flat vector, in the order of the forward pass.
// The backward pass goes through them in reverse, and so do the buckets. No bucket spans a gap between two
// sections. The rules depend on nothing else, so they give the same result on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/core/partition.h"

namespace starling::collective {

struct Bucket {
  Slice elements;  // of the flat vector
  Slice sections;  // by index: the sections that it has a part of

  bool operator==(const Bucket&) const = default;
};

using Buckets = std::vector<Bucket>;

// Each bucket takes sections until it has at least `enough` elements; the first one, which is sent first,
// `first_enough`; the last one takes the rest.
Buckets fill_buckets(std::span<const Slice> sections, std::size_t enough, std::size_t first_enough);

// Each bucket takes sections as long as it has at most `most` elements, or a single section that is larger.
// Towards both ends of the model buckets become smaller, but not below `edge`: the first begins early, and
// the next forward pass has to wait for the last ones.
Buckets taper_buckets(std::span<const Slice> sections, std::size_t most, std::size_t edge);

// The bucket at the front, which is the last, becomes two: its foremost sections that have at most `most`
// elements together form one of their own. Nothing happens if that would be all of them, or none.
void split_front(Buckets& buckets, std::span<const Slice> sections, std::size_t most);

// Parts of sections, each of at most `most` elements: every bucket belongs to one section.
Buckets cut_in_pieces(std::span<const Slice> sections, std::size_t most);

// An all-reduce of m bytes takes alpha + m beta seconds.
struct LinkCost {
  double alpha = 0;
  double beta = 0;
};

// The rule of MG-WFBP: neighbours go together where the next one is ready before the present bucket would
// have been sent, and waiting for it costs less than another start-up. `ready` are the seconds, from any
// origin, at which the gradient of each section is ready. Sections of fewer elements than this never go
// alone.
inline constexpr std::size_t kAlwaysMerged = 8192;
Buckets merge_buckets(std::span<const Slice> sections, std::span<const double> ready, const LinkCost& cost);

// Hashes a plan and whatever else must be the same everywhere; ranks compare the hashes.
std::uint64_t hash_of(const Buckets& buckets, std::uint64_t more);

}  // namespace starling::collective
