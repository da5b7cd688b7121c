// Random collectives against a naive computation: disjoint groups of unordered ranks, several at once, all
// types and reductions, any offset in memory, any order of events.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/collective/cost.h"
#include "starling/collective/select.h"
#include "starling/core/partition.h"
#include "starling/core/random.h"
#include "tests/collective/data.h"
#include "tests/support/virtual_ranks.h"

namespace starling::collective {
namespace {

using testing::everyone;
using testing::vector_of;
using testing::VirtualRanks;

constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kInt32,
                            DType::kInt64,   DType::kFloat16, DType::kBFloat16};

template <class T>
void put_as(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

void put(DType type, std::byte* at, double value) {
  switch (type) {
    case DType::kFloat32:
      return put_as(at, static_cast<float>(value));
    case DType::kFloat64:
      return put_as(at, value);
    case DType::kInt32:
      return put_as(at, static_cast<std::int32_t>(value));
    case DType::kInt64:
      return put_as(at, static_cast<std::int64_t>(value));
    case DType::kFloat16:
      return put_as(at, Float16(static_cast<float>(value)));
    case DType::kBFloat16:
      return put_as(at, BFloat16(static_cast<float>(value)));
  }
}

// a / b in the accumulator type.
double quotient(DType type, double a, double b) {
  if (accumulator_of(type) == DType::kFloat32) return static_cast<float>(a) / static_cast<float>(b);
  return a / b;
}

// One collective of one group, with all members' data and the expected results.
class Exercise {
 public:
  Exercise(Random& random, Group group, Tag tag) : group_(std::move(group)), tag_(tag) {
    kind_ = static_cast<Collective>(random.between(0, 5));
    type_ = kTypes[random.below(6)];
    root_ = group_[random.below(group_.size())];
    if (random.chance(0.7)) choice_ = static_cast<Algorithm>(random.between(1, 3));
    reduction_ = static_cast<Reduction::Kind>(random.between(0, is_floating(type_) ? 4 : 0));
    if (!is_floating(type_) && random.chance(0.5)) {
      reduction_ = random.chance(0.5) ? Reduction::Kind::kMin : Reduction::Kind::kMax;
    }
    count_ = random.below(random.chance(0.5) ? 2 * group_.size() + 2 : 300);
    if (random.chance(0.01)) count_ = random.below(150'000);
    fill(random);
    expect();
  }

  void start(VirtualRanks& ranks) {
    for (std::size_t member = 0; member < group_.size(); ++member) {
      ranks.start(group_[member], call(ranks.at(group_[member]), member));
    }
  }

  void check() const {
    for (std::size_t member = 0; member < group_.size(); ++member) {
      ASSERT_TRUE(memory_[member] == expected_[member])
          << "collective " << static_cast<int>(kind_) << " of " << count_ << " " << name_of(type_)
          << ", reduction " << static_cast<int>(reduction_) << ", algorithm "
          << (choice_ ? name_of(*choice_) : "by table") << ", group " << join_texts(group_) << ", member "
          << member;
    }
  }

 private:
  Task<> call(Transport& net, std::size_t member) {
    const Data data(memory_[member].data() + offset_[member], count_, type_);
    const Reduction how{reduction_, weights_[member]};
    switch (kind_) {
      case Collective::kAllReduce:
        return all_reduce(net, group_, data, how, tag_, choice_);
      case Collective::kReduceScatter:
        return reduce_scatter(net, group_, data, how, tag_, choice_);
      case Collective::kAllGather:
        return all_gather(net, group_, data, tag_, choice_);
      case Collective::kBroadcast:
        return broadcast(net, group_, root_, data, tag_, choice_);
      case Collective::kGather:
        return gather(net, group_, root_, data, tag_);
      default:
        return barrier(net, group_, tag_, choice_);
    }
  }

  // Values k/4 of few bits: every sum and weighted sum is exact, also in 16 bits.
  void fill(Random& random) {
    const double unit = is_floating(type_) ? 0.25 : 1;
    for (std::size_t member = 0; member < group_.size(); ++member) {
      offset_.push_back(random.below(16));
      memory_.emplace_back(count_ * size_of(type_) + 32, std::byte{0x5a});
      values_.emplace_back(count_);
      weights_.push_back(0.25 * random.between(member == 0 ? 1 : 0, 4));
      for (std::size_t at = 0; at < count_; ++at) {
        values_[member][at] = unit * random.between(-16, 16);
        put(type_, memory_[member].data() + offset_[member] + at * size_of(type_), values_[member][at]);
      }
    }
  }

  void expect() {
    expected_ = memory_;
    const std::size_t members = group_.size();
    for (std::size_t member = 0; member < members; ++member) {
      for (std::size_t owner = 0; owner < members; ++owner) {
        const Slice slice = slice_of(count_, members, owner);
        for (std::size_t at = slice.begin; at < slice.end; ++at) {
          put(type_, expected_[member].data() + offset_[member] + at * size_of(type_),
              result(member, owner, at));
        }
      }
    }
  }

  // The result at element `at`, which is in the slice of `owner`.
  double result(std::size_t member, std::size_t owner, std::size_t at) const {
    switch (kind_) {
      case Collective::kAllReduce:
        return reduced(at);
      case Collective::kReduceScatter:
        return owner == member ? reduced(at) : values_[member][at];
      case Collective::kAllGather:
        return values_[owner][at];
      case Collective::kBroadcast:
        return values_[index_in(group_, root_)][at];
      case Collective::kGather:
        return group_[member] == root_ ? values_[owner][at] : values_[member][at];
      default:
        return values_[member][at];
    }
  }

  double reduced(std::size_t at) const {
    double sum = 0, weighted = 0, weights = 0, lowest = values_[0][at], highest = values_[0][at];
    for (std::size_t member = 0; member < group_.size(); ++member) {
      const double value = values_[member][at];
      sum += value;
      weighted += value * weights_[member];
      weights += weights_[member];
      lowest = std::min(lowest, value);
      highest = std::max(highest, value);
    }
    switch (reduction_) {
      case Reduction::Kind::kSum:
        return sum;
      case Reduction::Kind::kMean:
        return quotient(type_, sum, static_cast<double>(group_.size()));
      case Reduction::Kind::kWeightedMean:
        return quotient(type_, weighted, weights);
      case Reduction::Kind::kMin:
        return lowest;
      default:
        return highest;
    }
  }

  Group group_;
  Tag tag_;
  Collective kind_;
  DType type_;
  Rank root_;
  Choice choice_;
  Reduction::Kind reduction_;
  std::size_t count_ = 0;
  std::vector<std::size_t> offset_;
  std::vector<double> weights_;
  std::vector<std::vector<double>> values_;
  std::vector<std::vector<std::byte>> memory_;  // with a margin on both sides that must stay
  std::vector<std::vector<std::byte>> expected_;
};

// Disjoint groups of some of the ranks, in any order.
std::vector<Group> random_groups(Random& random, int ranks) {
  Group order = everyone(ranks);
  random.shuffle(order);
  std::vector<Group> groups(1);
  for (const Rank rank : order) {
    if (random.chance(0.1)) continue;
    if (!groups.back().empty() && random.chance(0.2)) groups.emplace_back();
    groups.back().push_back(rank);
  }
  if (groups.back().empty()) groups.pop_back();
  return groups;
}

VirtualRanks::Link random_link(Random& random) {
  VirtualRanks::Link link;
  if (random.chance(0.7)) link.alpha = std::chrono::microseconds(random.between(0, 50));
  if (random.chance(0.5)) link.seconds_per_byte = 1e-9;
  return link;
}

TEST(Property, RandomCollectivesEqualTheNaiveOnes) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    Random random(seed);
    const int size = random.between(1, 12);
    const VirtualRanks::Link link = random_link(random);
    VirtualRanks ranks(size, link, seed);
    std::vector<std::unique_ptr<Exercise>> exercises;
    for (const Group& group : random_groups(random, size)) {
      for (int at_once = random.between(1, 3); at_once > 0; --at_once) {
        exercises.push_back(std::make_unique<Exercise>(random, group, static_cast<Tag>(at_once)));
        exercises.back()->start(ranks);
      }
    }
    ranks.run();
    for (Rank rank = 0; rank < size; ++rank) ASSERT_FALSE(ranks.error(rank));
    for (const auto& exercise : exercises) exercise->check();
    if (HasFatalFailure()) return;
  }
}

template <class T>
void check_rough_sums(Random& random, int members, Choice choice, std::uint64_t seed) {
  const std::size_t count = 1 + random.below(200);
  std::vector<std::vector<T>> values(static_cast<std::size_t>(members), std::vector<T>(count));
  std::vector<double> sums(count), magnitudes(count);
  for (auto& vector : values) {
    for (std::size_t at = 0; at < count; ++at) {
      vector[at] = static_cast<T>(random.normal() * std::exp(3 * random.normal()));
      sums[at] += static_cast<double>(vector[at]);
      magnitudes[at] += std::abs(static_cast<double>(vector[at]));
    }
  }
  Group group = everyone(members);
  random.shuffle(group);
  VirtualRanks ranks(members, {}, seed);
  ranks.run_all([&](Rank rank, Transport& net) {
    const Data data = vector_of(values, rank);
    return all_reduce(net, group, data, Reduction::mean(), 1, choice);
  });
  const double tolerance = 16.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (const auto& vector : values) {
    ASSERT_EQ(std::memcmp(vector.data(), values[0].data(), count * sizeof(T)), 0) << members << " members";
    for (std::size_t at = 0; at < count; ++at) {
      ASSERT_NEAR(static_cast<double>(vector[at]), sums[at] / members, tolerance * magnitudes[at] / members);
    }
  }
}

TEST(Property, RoughSumsHaveTheSameBitsEverywhere) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const int members = random.between(1, 17);
    Choice choice;
    if (random.chance(0.8)) choice = static_cast<Algorithm>(random.between(1, 3));
    check_rough_sums<float>(random, members, choice, seed);
    check_rough_sums<double>(random, members, choice, seed);
    if (HasFatalFailure()) return;
  }
}

// Sizes around each border of the table.
TEST(Property, EveryThresholdIsCrossedWell) {
  for (const int members : {2, 3, 4, 9, 17}) {
    for (const auto& row : Selection::network().rows()) {
      for (const std::size_t bytes : {row.from, row.from + 4}) {
        if (!row.matches(bytes, static_cast<std::size_t>(members))) continue;
        const std::size_t count = bytes / sizeof(int);
        std::vector<std::vector<int>> values(static_cast<std::size_t>(members), std::vector<int>(count));
        for (std::size_t at = 0; at < count; ++at) {
          for (std::size_t member = 0; member < values.size(); ++member) {
            values[member][at] = static_cast<int>(at * (member + 1));
          }
        }
        const Group group = everyone(members);
        VirtualRanks ranks(members);
        ranks.run_all([&](Rank rank, Transport& net) {
          const Data data = vector_of(values, rank);
          return all_reduce(net, group, data, Reduction::sum(), 1);
        });
        const int factor = members * (members + 1) / 2;
        for (const auto& vector : values) {
          for (std::size_t at = 0; at < count; ++at) ASSERT_EQ(vector[at], static_cast<int>(at) * factor);
        }
      }
    }
  }
}

}  // namespace
}  // namespace starling::collective
