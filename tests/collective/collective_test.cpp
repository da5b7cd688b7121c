#include "starling/collective/collective.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "starling/core/error.h"
#include "starling/core/partition.h"
#include "tests/collective/calls.h"
#include "tests/collective/data.h"
#include "tests/support/virtual_ranks.h"

namespace starling::collective {
namespace {

using testing::element_of;
using testing::everyone;
using testing::kByMessages;
using testing::vector_of;
using testing::VirtualRanks;

// The error that rank 1 of 3 gets for a call that it alone makes.
template <class Make>
std::string refused_call(Make make) {
  VirtualRanks ranks(3);
  std::vector<float> values(4, 1.0f);
  ranks.start(1, make(ranks.at(1), Data(std::span<float>(values))));
  ranks.run();
  try {
    if (ranks.error(1)) std::rethrow_exception(ranks.error(1));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal_of_group(const Group& group) {
  return refused_call(
      [&](Transport& net, Data data) { return all_reduce(net, group, data, Reduction::sum(), 1); });
}

std::string refusal_of_weight(double weight, const Group& group) {
  return refused_call([&](Transport& net, Data data) {
    return all_reduce(net, group, data, Reduction::weighted_mean(weight), 1);
  });
}

TEST(Collective, ChecksTheGroup) {
  EXPECT_EQ(refusal_of_group({}), "a collective needs a group of at least one rank");
  EXPECT_EQ(refusal_of_group({1, 3}), "group 1, 3: there are ranks 0 to 2");
  EXPECT_EQ(refusal_of_group({1, -1}), "group 1, -1: there are ranks 0 to 2");
  EXPECT_EQ(refusal_of_group({1, 2, 1}), "group 1, 2, 1: rank 1 is in it twice");
  EXPECT_EQ(refusal_of_group({0, 2}), "rank 1 is not a member of group 0, 2");
  EXPECT_EQ(refusal_of_group({1}), "accepted");
}

TEST(Collective, ChecksTheRoot) {
  const Group group = {1, 2};
  EXPECT_EQ(refused_call([&](Transport& net, Data data) { return broadcast(net, group, 0, data, 1); }),
            "rank 0 is not a member of group 1, 2");
  EXPECT_EQ(refused_call([&](Transport& net, Data data) { return gather(net, group, 7, data, 1); }),
            "rank 7 is not a member of group 1, 2");
}

TEST(Collective, ChecksTheReduction) {
  const Group group = {1, 2};
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal_of_weight(-1, group), "the weight -1 is not a finite number of at least 0");
  EXPECT_EQ(refusal_of_weight(infinity, group), "the weight inf is not a finite number of at least 0");
  EXPECT_EQ(refusal_of_weight(std::nan(""), group), "the weight nan is not a finite number of at least 0");
  EXPECT_EQ(refused_call([&](Transport& net, Data data) {
              return all_reduce(net, group, Data(data.bytes, data.count, DType::kInt32), Reduction::mean(),
                                1);
            }),
            "a mean needs a floating type, not int32");
  EXPECT_EQ(refused_call([&](Transport& net, Data data) {
              return reduce_scatter(net, group, Data(data.bytes, 1, DType::kInt64),
                                    Reduction::weighted_mean(1), 1);
            }),
            "a mean needs a floating type, not int64");
}

TEST(Collective, ChecksTheSumOfTheWeightsEverywhere) {
  EXPECT_EQ(refusal_of_weight(0, {1}),
            "the weights 0 sum to 0 as float32; a mean needs a finite sum above 0");
  const Group group = everyone(3);
  std::vector<float> values = {1, 2, 3};
  VirtualRanks ranks(3);
  for (Rank rank = 0; rank < 3; ++rank) {
    const Data data = element_of(values, rank);
    ranks.start(rank, all_reduce(ranks.at(rank), group, data, Reduction::weighted_mean(0), 1));
  }
  ranks.run();
  for (Rank rank = 0; rank < 3; ++rank) {
    EXPECT_THROW(std::rethrow_exception(ranks.error(rank)), InvalidArgument);
  }
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
}

TEST(Collective, RefusesDirectWithoutSharedMemory) {
  EXPECT_EQ(refused_call([&](Transport& net, Data data) {
              return all_reduce(net, everyone(3), data, Reduction::sum(), 1, Algorithm::kDirect);
            }),
            "direct needs memory that all members share; group 0, 1, 2 on transport inproc has none");
}

TEST(Collective, AGroupOfOneKeepsItsBits) {
  const std::vector<float> before = {0.1f, -0.0f, std::nanf("7"), 1e-40f, 3e38f};
  for (const Reduction how :
       {Reduction::sum(), Reduction::mean(), Reduction::weighted_mean(0.3), Reduction::min()}) {
    std::vector<float> values = before;
    const Data data{std::span<float>(values)};
    VirtualRanks ranks(2);
    ranks.start(1, all_reduce(ranks.at(1), {1}, data, how, 1));
    ranks.start(1, reduce_scatter(ranks.at(1), {1}, data, how, 2));
    ranks.start(1, all_gather(ranks.at(1), {1}, data, 3));
    ranks.start(1, broadcast(ranks.at(1), {1}, 1, data, 4));
    ranks.start(1, gather(ranks.at(1), {1}, 1, data, 5));
    ranks.start(1, barrier(ranks.at(1), {1}, 6));
    ranks.run();
    EXPECT_FALSE(ranks.error(1));
    EXPECT_EQ(std::memcmp(values.data(), before.data(), data.size()), 0);
    EXPECT_EQ(ranks.at(1).traffic().messages, 0u);
  }
}

// 2048 + 1 is 2048 in float16, so rounding on the way would lose both ones.
TEST(Collective, RoundsSixteenBitSumsOnce) {
  for (const Algorithm algorithm : kByMessages) {
    std::vector<Float16> values = {Float16(2048.0f), Float16(1.0f), Float16(1.0f)};
    const Group group = everyone(3);
    VirtualRanks ranks(3);
    ranks.run_all([&](Rank rank, Transport& net) {
      const Data data = element_of(values, rank);
      return all_reduce(net, group, data, Reduction::sum(), 1, algorithm);
    });
    for (const Float16 value : values) EXPECT_EQ(static_cast<float>(value), 2050.0f);
  }
}

// 5 * (1.0f / 3) is not 5.0f / 3.
TEST(Collective, MeansDivideTheSum) {
  for (const Algorithm algorithm : kByMessages) {
    std::vector<float> values = {1, 1, 3};
    const Group group = everyone(3);
    VirtualRanks ranks(3);
    ranks.run_all([&](Rank rank, Transport& net) {
      const Data data = element_of(values, rank);
      return all_reduce(net, group, data, Reduction::mean(), 1, algorithm);
    });
    for (const float value : values) EXPECT_EQ(value, 5.0f / 3.0f);
  }
}

TEST(Collective, WeighsEachMember) {
  for (const Algorithm algorithm : kByMessages) {
    std::vector<double> values = {1, 2, 4};
    const std::vector<double> weights = {0.5, 0, 1.5};
    const Group group = {2, 0, 1};
    VirtualRanks ranks(3);
    ranks.run_all([&](Rank rank, Transport& net) {
      const auto at = static_cast<std::size_t>(rank);
      return all_reduce(net, group, Data(std::span<double>(&values[at], 1)),
                        Reduction::weighted_mean(weights[at]), 1, algorithm);
    });
    for (const double value : values) EXPECT_EQ(value, (1 * 0.5 + 4 * 1.5) / 2);
  }
}

TEST(Collective, ReduceScatterChangesTheOwnSliceOnly) {
  for (const Algorithm algorithm : kByMessages) {
    for (const int members : {2, 3, 4, 6, 8}) {
      const auto n = static_cast<std::size_t>(members);
      const std::size_t count = 13;
      std::vector<std::vector<int>> values(n, std::vector<int>(count));
      for (std::size_t member = 0; member < n; ++member) {
        for (std::size_t at = 0; at < count; ++at) values[member][at] = static_cast<int>(100 * member + at);
      }
      const auto before = values;
      const Group group = everyone(members);
      VirtualRanks ranks(members);
      ranks.run_all([&](Rank rank, Transport& net) {
        const Data data = vector_of(values, rank);
        return reduce_scatter(net, group, data, Reduction::sum(), 1, algorithm);
      });
      for (std::size_t member = 0; member < n; ++member) {
        const Slice own = slice_of(count, n, member);
        for (std::size_t at = 0; at < count; ++at) {
          int expected = before[member][at];
          if (at >= own.begin && at < own.end) {
            expected = static_cast<int>(100 * (n * (n - 1) / 2) + n * at);
          }
          EXPECT_EQ(values[member][at], expected);
        }
      }
    }
  }
}

Task<> reduce_scatter_and_gather(Transport& net, const Group& group, Data data, Reduction how,
                                 Algorithm algorithm) {
  co_await reduce_scatter(net, group, data, how, 1, algorithm);
  co_await all_gather(net, group, data, 2, algorithm);
}

void check_halves(Algorithm algorithm, int members, std::size_t count, bool weighted) {
  const auto how = [&](Rank rank) {
    return weighted ? Reduction::weighted_mean(rank + 1) : Reduction::mean();
  };
  auto halves = testing::rough_values(static_cast<std::size_t>(members), count);
  auto whole = halves;
  const Group group = everyone(members);
  VirtualRanks ranks(members);
  ranks.run_all([&](Rank rank, Transport& net) {
    return reduce_scatter_and_gather(net, group, vector_of(halves, rank), how(rank), algorithm);
  });
  VirtualRanks again(members);
  again.run_all([&](Rank rank, Transport& net) {
    return all_reduce(net, group, vector_of(whole, rank), how(rank), 1, algorithm);
  });
  for (const auto& vector : halves) EXPECT_EQ(vector, halves[0]);
  // Where the members are no power of two the ring stands in for halving and sums in another order.
  if (algorithm == Algorithm::kHalving && (members & (members - 1)) != 0) return;
  EXPECT_EQ(halves, whole) << members << " members, " << count;
}

// Whatever the slices are: unequal, or some of them empty.
TEST(Collective, BothHalvesMakeAnAllReduce) {
  for (const Algorithm algorithm : kByMessages) {
    for (const int members : {1, 2, 3, 4, 5, 8, 9}) {
      for (const std::size_t count : {0, 1, 2, 5, 13, 64, 101}) {
        check_halves(algorithm, members, count, false);
        check_halves(algorithm, members, count, true);
      }
    }
  }
}

TEST(Collective, GathersAtTheRoot) {
  const Group group = {3, 1, 0, 2};
  for (const Rank root : group) {
    std::vector<std::vector<int>> values(4, std::vector<int>(6, -1));
    std::vector<int> expected(6);
    for (std::size_t member = 0; member < 4; ++member) {
      const Slice own = slice_of(6, 4, member);
      for (std::size_t at = own.begin; at < own.end; ++at) {
        expected[at] = values[static_cast<std::size_t>(group[member])][at] =
            static_cast<int>(10 * member + at);
      }
    }
    VirtualRanks ranks(4);
    ranks.run_all(
        [&](Rank rank, Transport& net) { return gather(net, group, root, vector_of(values, rank), 1); });
    EXPECT_EQ(values[static_cast<std::size_t>(root)], expected);
  }
}

Task<> twice(Transport& net, const Group& group, Data data, Algorithm algorithm) {
  co_await all_reduce(net, group, data, Reduction::sum(), 1, algorithm);
  co_await all_reduce(net, group, data, Reduction::weighted_mean(1), 1, algorithm);
  co_await all_reduce(net, group, data, Reduction::sum(), 1, algorithm);
}

TEST(Collective, TagsMayBeUsedAgain) {
  for (const Algorithm algorithm : kByMessages) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      std::vector<float> values = {1, 2, 3, 4, 5};
      const Group group = everyone(5);
      VirtualRanks ranks(5, {}, seed);
      ranks.run_all(
          [&](Rank rank, Transport& net) { return twice(net, group, element_of(values, rank), algorithm); });
      EXPECT_EQ(values, std::vector<float>(5, 75.0f));
    }
  }
}

}  // namespace
}  // namespace starling::collective
