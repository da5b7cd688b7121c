// Collectives over any group of ranks, formed at the moment of use: every member calls the same function with
// the same group, an equal amount of data of the same type, and the same tag. Groups are never registered;
// disjoint groups proceed at the same time; a rank may take part in several collectives at once if their tags
// differ, and one after the other under the same tag.
//
// When a member is lost, the others that have not finished throw PeerLost. Messages of a failed call may
// arrive later: repeat it under another tag. After a failure, the data of anything but a reduction is
// undefined where it was to be written.
//
// All work in place. "Slice i" is slice_of(count, group size, i), the part that belongs to the i-th member.
// Results are bit-identical on all members.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "starling/collective/shared_group.h"
#include "starling/core/combine.h"
#include "starling/core/dtype.h"
#include "starling/core/types.h"
#include "starling/runtime/task.h"
#include "starling/transport/transport.h"

namespace starling::collective {

using runtime::Task;
using transport::Transport;

enum class Algorithm { kDirect, kRing, kDoubling, kHalving, kHierarchical };

// `count` elements of one type, not owned. Without memory it is a ghost: it has a size and no values.
// Simulated ranks may use ghosts in all collectives; if one member's data is a ghost, everybody's must be.
struct Data {
  std::byte* bytes = nullptr;
  std::size_t count = 0;
  DType type = DType::kFloat32;

  Data() = default;
  Data(std::byte* data, std::size_t elements, DType dtype) : bytes(data), count(elements), type(dtype) {}
  template <class T>
  Data(std::span<T> values)  // NOLINT(google-explicit-constructor): a span of elements is data
      : bytes(reinterpret_cast<std::byte*>(values.data())), count(values.size()), type(dtype_of<T>()) {}

  bool ghost() const { return bytes == nullptr && count > 0; }
  std::size_t size() const { return count * size_of(type); }
  std::span<std::byte> span() const { return {bytes, size()}; }
  Data part(std::size_t begin, std::size_t end) const {
    return {bytes != nullptr ? bytes + begin * size_of(type) : nullptr, end - begin, type};
  }
};

// How the members' elements are combined. Means are for floating types only.
struct Reduction {
  enum class Kind { kSum, kMean, kWeightedMean, kMin, kMax };
  Kind kind = Kind::kSum;
  double weight =
      1;  // of this member, for kWeightedMean: sum of weight * x divided by the sum of the weights

  static Reduction sum() { return {Kind::kSum, 1}; }
  static Reduction mean() { return {Kind::kMean, 1}; }
  static Reduction weighted_mean(double weight) { return {Kind::kWeightedMean, weight}; }
  static Reduction min() { return {Kind::kMin, 1}; }
  static Reduction max() { return {Kind::kMax, 1}; }
};

// Without an algorithm the selection table decides by size and group (select.h).
using Choice = std::optional<Algorithm>;

// Every member ends with the reduction of all members' data. If a member dies, a member that throws PeerLost
// holds its old data.
Task<> all_reduce(Transport& net, SharedGroup group, Data data, Reduction how, Tag tag, Choice choice = {});

// Slice i of member i becomes the reduction of all members' slices i; the rest of `data` stays as it was.
Task<> reduce_scatter(Transport& net, SharedGroup group, Data data, Reduction how, Tag tag,
                      Choice choice = {});

// Slice i of every member becomes slice i of member i.
Task<> all_gather(Transport& net, SharedGroup group, Data data, Tag tag, Choice choice = {});

// Every member's data becomes that of `root`, a rank of the group.
Task<> broadcast(Transport& net, SharedGroup group, Rank root, Data data, Tag tag, Choice choice = {});

// Slice i of the root's data becomes slice i of member i.
Task<> gather(Transport& net, SharedGroup group, Rank root, Data data, Tag tag);

// Returns when every member has called it.
Task<> barrier(Transport& net, SharedGroup group, Tag tag, Choice choice = {});

// The index of `rank` in the group; InvalidArgument if it is not a member.
std::size_t index_in(const Group& group, Rank rank);

}  // namespace starling::collective
