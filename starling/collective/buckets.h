// Gradients are sent in buckets: small tensors together, so that not each pays the latency of a collective,
// and the model in several parts, so that the first are on their way while others are computed (Li et al.,
// "PyTorch Distributed: experiences on accelerating data parallel training", VLDB 2020).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "starling/core/partition.h"

namespace starling::collective {

struct Bucket {
  Slice elements;  // of the flat vector
  Slice sections;  // by index: those that it is made of
};

// `sections` are the places of a model's tensors in the flat vector, in the order of the forward pass. The
// backward pass comes by them in reverse, and so are the buckets: each takes sections until it has at least
// `enough` elements, the last one what is left. A bucket is cut short where the next section does not lie
// right before it. Depends on nothing else, so it is the same on all ranks.
std::vector<Bucket> cut_in_buckets(std::span<const Slice> sections, std::size_t enough);

}  // namespace starling::collective
