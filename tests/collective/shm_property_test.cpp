// The public collectives among processes: every type, reduction and algorithm, over random groups and sizes.
// Values are small whole numbers and group sizes powers of two, so every result is exact in every type.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/collective/select.h"
#include "starling/core/error.h"
#include "starling/core/random.h"
#include "tests/support/check.h"
#include "tests/support/shm_world.h"

namespace starling::collective {
namespace {

using runtime::Task;
using testing::Peer;

constexpr int kShmRanks = 5;
using Kind = Reduction::Kind;

double real_element(std::uint64_t round, Rank rank, std::size_t i) {
  return static_cast<double>((round + i * 7 + static_cast<std::size_t>(rank) * 3) % 9) - 4;
}

double weight_of(const Group& group, Rank rank) { return rank == group.front() ? 3 : 1; }

double expected(Kind kind, const Group& group, std::uint64_t round, std::size_t i) {
  double sum = 0;
  double weighted = 0;
  double least = 100;
  double most = -100;
  for (const Rank rank : group) {
    const double value = real_element(round, rank, i);
    sum += value;
    weighted += value * weight_of(group, rank);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  const auto members = static_cast<double>(group.size());
  if (kind == Kind::kMean) return sum / members;
  if (kind == Kind::kWeightedMean) return weighted / (members + 2);
  if (kind == Kind::kMin) return least;
  return kind == Kind::kMax ? most : sum;
}

struct Case {
  std::uint64_t round = 0;
  Group group;
  std::size_t count = 0;
  Kind kind = Kind::kSum;
  Choice algorithm = Algorithm::kDirect;
  bool in_arena = false;
  std::size_t shift = 0;  // elements before the first: unaligned starts
};

template <class T>
Task<> reduce(transport::Transport& net, Case c) {
  const std::size_t bytes = (c.count + c.shift) * sizeof(T);
  transport::Memory shared = net.allocate(bytes);
  std::vector<std::byte> own(bytes);
  std::byte* const start = (c.in_arena ? shared.bytes.data() : own.data()) + c.shift * sizeof(T);
  const std::span<T> values(reinterpret_cast<T*>(start), c.count);
  for (std::size_t i = 0; i < c.count; ++i) {
    values[i] = static_cast<T>(static_cast<float>(real_element(c.round, net.rank(), i)));
  }
  const Reduction how{c.kind, weight_of(c.group, net.rank())};
  co_await all_reduce(net, c.group, Data(values), how, c.round, c.algorithm);
  for (std::size_t i = 0; i < c.count; ++i) {
    const T wanted = static_cast<T>(static_cast<float>(expected(c.kind, c.group, c.round, i)));
    if (static_cast<float>(values[i]) == static_cast<float>(wanted)) continue;
    throw Error(concat("round ", c.round, ": element ", i, " of ", c.count, " is ",
                       static_cast<float>(values[i]), " instead of ", static_cast<float>(wanted)));
  }
}

Task<> reduce_as(transport::Transport& net, DType type, Case c) {
  switch (type) {
    case DType::kFloat32:
      return reduce<float>(net, c);
    case DType::kFloat64:
      return reduce<double>(net, c);
    case DType::kInt32:
      return reduce<std::int32_t>(net, c);
    case DType::kInt64:
      return reduce<std::int64_t>(net, c);
    case DType::kFloat16:
      return reduce<Float16>(net, c);
    case DType::kBFloat16:
      return reduce<BFloat16>(net, c);
  }
  throw Error("unknown type");
}

// The same on every rank, from the number of the round alone.
Case draw(std::uint64_t round, Random& random, DType& type) {
  Case c;
  c.round = round;
  c.group.resize(kShmRanks);
  std::iota(c.group.begin(), c.group.end(), 0);
  random.shuffle(c.group);
  c.group.resize(std::size_t{1} << random.below(3));
  const std::size_t sizes[] = {0, 1, 3, 100, 2047, 4100, 9000, 70'000};
  c.count = sizes[random.below(8)] + random.below(3);
  type = static_cast<DType>(random.below(6));
  c.kind = static_cast<Kind>(random.below(5));
  if (!is_floating(type) && (c.kind == Kind::kMean || c.kind == Kind::kWeightedMean)) c.kind = Kind::kSum;
  // Weights 3, 1, 1, 1 sum to 6: not exact. Two members (4) and one (any) are.
  if (c.kind == Kind::kWeightedMean && c.group.size() == 4) c.group.resize(2);
  c.algorithm = static_cast<Algorithm>(random.below(4));
  return c;
}

Task<> random_cases(Peer& peer) {
  for (std::uint64_t round = 1; round <= 500; ++round) {
    Random random(round);
    DType type{};
    Case c = draw(round, random, type);
    c.in_arena = random.chance(0.5);
    c.shift = random.below(4);
    if (c.algorithm == Algorithm::kDirect && peer.net.shared() == nullptr) c.algorithm.reset();
    if (std::find(c.group.begin(), c.group.end(), peer.net.rank()) == c.group.end()) continue;
    co_await reduce_as(peer.net, type, c);
  }
}

TEST(ShmPropertyTest, AllTypesReductionsAndAlgorithms) {
  const auto outcomes = testing::ShmWorld().run(kShmRanks, random_cases);
  for (const std::string& outcome : outcomes) EXPECT_EQ(outcome, "");
}

// As between hosts: shared memory is not used.
TEST(ShmPropertyTest, AllTypesReductionsAndAlgorithmsOverLinks) {
  const transport::Link link{5e9, std::chrono::microseconds(5)};
  const auto outcomes = testing::ShmWorld(link).run(kShmRanks, random_cases);
  for (const std::string& outcome : outcomes) EXPECT_EQ(outcome, "");
}

Task<> check_choice(Peer& peer) {
  const Group group{0, 1};
  testing::check(choose(peer.net, group, 1, {}) == Algorithm::kDoubling, "the network's table for little");
  testing::check(choose(peer.net, group, 1 << 20, {}) == Algorithm::kHalving, "the network's table for much");
  co_return;
}

TEST(ShmPropertyTest, LinkedRanksChooseAsOnANetwork) {
  const auto outcomes = testing::ShmWorld(transport::Link{}).run(2, check_choice);
  for (const std::string& outcome : outcomes) EXPECT_EQ(outcome, "");
}

}  // namespace
}  // namespace starling::collective
