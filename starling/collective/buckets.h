// Gradients are sent in buckets: small tensors together, so that not each pays the latency of a collective,
// and the model in several parts, so that the first are on their way while others are computed (Li et al.,
// "PyTorch Distributed: experiences on accelerating data parallel training", VLDB 2020).
//
// The rules below take the places of a model's tensors in the flat vector, in the order of the forward pass.
// The backward pass comes by them in reverse, and so are the buckets. No bucket reaches over a gap between
// two sections. They depend on nothing else, so they give the same on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/core/partition.h"

namespace starling::collective {

struct Bucket {
  Slice elements;  // of the flat vector
  Slice sections;  // by index: those that it has a part of

  bool operator==(const Bucket&) const = default;
};

using Buckets = std::vector<Bucket>;

// Each takes sections until it has at least `enough` elements, the first one, which is the first on its way,
// `first_enough`; the last one what is left.
Buckets fill_buckets(std::span<const Slice> sections, std::size_t enough, std::size_t first_enough);

// Each takes sections as long as it has at most `most` elements, or a single section that is larger. Towards
// both ends of the model they become smaller, but not below `edge`: the first begins early, and the last ones
// are what the next forward pass has to wait for.
Buckets taper_buckets(std::span<const Slice> sections, std::size_t most, std::size_t edge);

// The bucket at the front, which is the last, becomes two: the foremost of its sections that have at most
// `most` elements together go alone. Nothing happens if that would be all of them, or none.
void split_front(Buckets& buckets, std::span<const Slice> sections, std::size_t most);

// Parts of sections, each of at most `most` elements: every bucket belongs to one section.
Buckets cut_in_pieces(std::span<const Slice> sections, std::size_t most);

// An all-reduce of m bytes takes alpha + m beta seconds.
struct LinkCost {
  double alpha = 0;
  double beta = 0;
};

// The rule of MG-WFBP: neighbours go together where the next one is ready before what there is would have
// been sent, and waiting for it costs less than another start-up. `ready` are the seconds, from any origin,
// at which the gradient of each section is there. Sections of fewer elements than this never go alone.
inline constexpr std::size_t kAlwaysMerged = 8192;
Buckets merge_buckets(std::span<const Slice> sections, std::span<const double> ready, const LinkCost& cost);

// Of a plan and of whatever else must be the same everywhere, by which ranks compare them.
std::uint64_t hash_of(const Buckets& buckets, std::uint64_t more);

}  // namespace starling::collective
