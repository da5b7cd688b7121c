// Direct exchanges among processes: what they compute, what they refuse, and what cancelling does.
#include "starling/collective/direct.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/core/error.h"
#include "starling/core/partition.h"
#include "starling/core/random.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/scope.h"
#include "starling/runtime/when.h"
#include "starling/transport/shared_memory.h"
#include "tests/support/check.h"
#include "tests/support/shm_world.h"

namespace starling::collective {
namespace {

using namespace std::chrono_literals;
using runtime::Task;
using testing::check;
using testing::check_contains;
using testing::check_equal;
using testing::Peer;

void expect_all_well(int ranks, const testing::World::Body& body) {
  const auto outcomes = testing::ShmWorld().run(ranks, body);
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) EXPECT_EQ(outcomes[rank], "") << "rank " << rank;
}

Group everyone(const transport::Transport& net) {
  Group group(static_cast<std::size_t>(net.size()));
  std::iota(group.begin(), group.end(), 0);
  return group;
}

// Integers, so that sums are exact in any order; in the arena or not, at any offset.
struct Values {
  Values(transport::Transport& net, std::size_t count, bool in_arena, std::size_t shift) {
    const std::size_t bytes = (count + shift) * sizeof(std::int64_t);
    memory = net.allocate(bytes);
    heap.resize(count + shift);
    auto* start = in_arena ? reinterpret_cast<std::int64_t*>(memory.bytes.data()) : heap.data();
    values = {start + shift, count};
  }
  transport::Memory memory;
  std::vector<std::int64_t> heap;
  std::span<std::int64_t> values;
};

std::int64_t whole_element(std::uint64_t round, Rank rank, std::size_t i) {
  return static_cast<std::int64_t>((round * 7919 + i) % 1009) * (rank + 1) - 300;
}

Task<> one_round(transport::Transport& net, std::uint64_t round, const Group& group, Random& random) {
  const std::size_t sizes[] = {0, 1, 7, 64, 2048, 2049, 5000, 20'000, 131'072};
  const std::size_t count = sizes[random.below(9)] + random.below(5);
  const auto kind = random.below(5);
  Values mine(net, count, random.chance(0.6), random.below(3));
  for (std::size_t i = 0; i < count; ++i) mine.values[i] = whole_element(round, net.rank(), i);
  const std::size_t self = index_in(group, net.rank());
  const Slice own = slice_of(count, group.size(), self);
  const auto sum = [&](std::size_t i) {
    std::int64_t total = 0;
    for (const Rank rank : group) total += whole_element(round, rank, i);
    return total;
  };
  const Data data(mine.values);
  if (kind == 0) co_await direct_all_reduce(net, group, data, Reduction::sum(), round);
  if (kind == 1) co_await direct_reduce_scatter(net, group, data, Reduction::sum(), round);
  if (kind == 2) co_await direct_all_gather(net, group, data, round);
  if (kind == 3) co_await direct_broadcast(net, group, group.back(), data, round);
  if (kind == 4) co_await direct_all_reduce(net, group, data, Reduction::max(), round);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t expected = whole_element(round, net.rank(), i);
    if (kind == 0 || (kind == 1 && i >= own.begin && i < own.end)) expected = sum(i);
    if (kind == 3) expected = whole_element(round, group.back(), i);
    if (kind == 2) {
      for (std::size_t m = 0; m < group.size(); ++m) {
        const Slice slice = slice_of(count, group.size(), m);
        if (i >= slice.begin && i < slice.end) expected = whole_element(round, group[m], i);
      }
    }
    if (kind == 4) {
      for (const Rank rank : group) expected = std::max(expected, whole_element(round, rank, i));
    }
    if (mine.values[i] != expected) {
      throw Error(concat("round ", round, ", kind ", kind, ": element ", i, " of ", count, " is ",
                         mine.values[i], " instead of ", expected));
    }
  }
}

// Every rank draws the same groups from the same seed; members meet without any other agreement.
Task<> random_rounds(Peer& peer) {
  for (std::uint64_t round = 1; round <= 400; ++round) {
    Random random(round);
    Group group = everyone(peer.net);
    random.shuffle(group);
    group.resize(1 + random.below(group.size()));
    if (std::find(group.begin(), group.end(), peer.net.rank()) != group.end()) {
      co_await one_round(peer.net, round, group, random);
    }
  }
}

TEST(DirectTest, RandomGroupsSizesAndOperations) { expect_all_well(6, random_rounds); }

// The same name again and again: each time the members must meet for the same turn, however they are
// scheduled.
Task<> many_turns(Peer& peer) {
  const Group group = everyone(peer.net);
  std::int64_t value = 0;
  for (std::int64_t turn = 0; turn < 2000; ++turn) {
    value = turn * (peer.net.rank() + 1);
    co_await direct_all_reduce(peer.net, group, Data(std::span(&value, 1)), Reduction::sum(), 9);
    const auto n = static_cast<std::int64_t>(group.size());
    check_equal(value, turn * n * (n + 1) / 2, concat("turn ", turn));
  }
}

TEST(DirectTest, OneTagManyTimes) {
  expect_all_well(2, many_turns);
  expect_all_well(5, many_turns);
}

Task<> add_up(transport::Transport& net, const Group& group, Tag tag) {
  std::vector<float> values(3000, static_cast<float>(tag));
  co_await direct_all_reduce(net, group, Data(std::span(values)), Reduction::sum(), tag);
  for (const float value : values) check_equal(value, static_cast<float>(tag * group.size()), "sum");
}

// More exchanges at once than a rank has postings: the rest wait their turn.
Task<> many_at_once(Peer& peer) {
  const Group group = everyone(peer.net);
  runtime::Scope scope(co_await runtime::this_context());
  for (Tag tag = 1; tag <= 300; ++tag) scope.spawn(add_up(peer.net, group, tag), concat("exchange ", tag));
  co_await scope.join();
}

TEST(DirectTest, ManyAtOnceUnderDifferentTags) { expect_all_well(3, many_at_once); }

Task<> means(Peer& peer) {
  const Group group = everyone(peer.net);
  const auto n = static_cast<float>(group.size());
  std::vector<float> values(100, static_cast<float>(peer.net.rank()));
  co_await direct_all_reduce(peer.net, group, Data(std::span(values)), Reduction::mean(), 1);
  check_equal(values[99], (n - 1) / 2, "mean");
  std::vector<double> weighted(100, peer.net.rank());
  const double weight = peer.net.rank() == 1 ? 3 : 1;
  co_await direct_all_reduce(peer.net, group, Data(std::span(weighted)), Reduction::weighted_mean(weight), 1);
  check_equal(weighted[0], (0 + 3 * 1 + 2) / 5.0, "weighted mean");
}

TEST(DirectTest, Means) { expect_all_well(3, means); }

Task<> disagree(Peer& peer) {
  std::vector<float> values(peer.net.rank() == 0 ? 10 : 11, 1.0F);
  auto task = direct_all_reduce(peer.net, Group{0, 1}, Data(std::span(values)), Reduction::sum(), 1);
  const std::string text = co_await testing::error_of<InvalidArgument>(task);
  check_contains(text, "10");
  check_contains(text, "11");
  for (const float value : values) check_equal(value, 1.0F, "value");
}

TEST(DirectTest, MembersThatDisagreeAreToldAndNothingChanges) { expect_all_well(2, disagree); }

Task<> wait_in_vain(Peer& peer) {
  const Group group = everyone(peer.net);
  std::vector<float> values(100, 1.0F);
  if (peer.net.rank() != 2) {
    const Duration before = peer.net.patience();
    peer.net.set_patience(30ms);
    auto task = direct_all_reduce(peer.net, group, Data(std::span(values)), Reduction::sum(), 1);
    const std::string text = co_await testing::error_of<Timeout>(task);
    check_contains(text, "exchange 1 among ranks 0, 1, 2");
    for (const float value : values) check_equal(value, 1.0F, "value");
    peer.net.set_patience(before);
    co_await peer.net.send(2, 7, {});
  } else {
    co_await peer.net.recv(0, 7, {});
    co_await peer.net.recv(1, 7, {});
  }
  // A second attempt under the same tag, with all members.
  co_await direct_all_reduce(peer.net, group, Data(std::span(values)), Reduction::sum(), 1);
  for (const float value : values) check_equal(value, 3.0F, "value");
}

TEST(DirectTest, ATimeoutNamesTheMissingAndTheNextAttemptWorks) { expect_all_well(3, wait_in_vain); }

// Rank 0 cancels an exchange again and again, at any stage of it; the others either finish or time out, and
// memory that rank 0 has given back is never written by them.
Task<> cancel_at_random(Peer& peer) {
  auto& net = peer.net;
  Random random(static_cast<std::uint64_t>(net.rank()) + 1);
  const Group group = everyone(net);
  constexpr std::size_t kBytes = 1 << 18;
  for (Tag round = 1; round <= 60; ++round) {
    if (net.rank() == 0) {
      transport::Memory memory = net.allocate(kBytes);
      std::memset(memory.bytes.data(), 0, kBytes);
      const Data data(memory.bytes.data(), kBytes / 4, DType::kInt32);
      co_await runtime::when_any(direct_all_reduce(net, group, data, Reduction::sum(), round),
                                 runtime::sleep_for(std::chrono::microseconds(random.below(200))));
      memory = {};
      const transport::Memory next = net.allocate(kBytes);
      testing::fill(next.bytes, round);
      co_await runtime::sleep_for(100us);
      check(testing::matches(next.bytes, round), "memory that was given back has been written to");
    } else {
      std::vector<std::int32_t> values(kBytes / 4, 1);
      const Duration before = net.patience();
      net.set_patience(20ms);
      try {
        co_await direct_all_reduce(net, group, Data(std::span(values)), Reduction::sum(), round);
        for (const auto value : values) check_equal(value, 2, "sum");
      } catch (const Timeout&) {
        for (const auto value : values) check_equal(value, 1, "value");
      }
      net.set_patience(before);
    }
    co_await barrier(net, group, 1000 + round, Algorithm::kDoubling);
  }
}

TEST(DirectTest, CancellingLeavesOthersAndMemoryWhole) { expect_all_well(3, cancel_at_random); }

// Every element is summed once, in the order of the group, by whichever member.
Task<> order_of_summation(Peer& peer) {
  const Group group{3, 0, 2, 1};
  Random random(static_cast<std::uint64_t>(peer.net.rank()));
  std::vector<float> values(50'000);
  for (float& value : values) value = static_cast<float>(random.normal());
  co_await direct_all_reduce(peer.net, group, Data(std::span(values)), Reduction::sum(), 1);
  std::vector<Random> sources;
  for (const Rank rank : group) sources.emplace_back(static_cast<std::uint64_t>(rank));
  for (const float value : values) {
    float sum = static_cast<float>(sources[0].normal());
    for (std::size_t i = 1; i < sources.size(); ++i) sum += static_cast<float>(sources[i].normal());
    check(std::memcmp(&sum, &value, sizeof sum) == 0, "the sum is not the one in group order");
  }
}

TEST(DirectTest, SumsInGroupOrder) { expect_all_well(4, order_of_summation); }

}  // namespace
}  // namespace starling::collective
