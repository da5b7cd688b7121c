// Data that has a size and no memory costs what data with memory costs, and needs none.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/collective/cost.h"
#include "starling/collective/select.h"
#include "starling/core/error.h"
#include "tests/collective/calls.h"
#include "tests/collective/data.h"
#include "tests/support/virtual_ranks.h"

namespace starling::collective {
namespace {

using testing::everyone;
using testing::kByMessages;
using testing::perform;
using testing::VirtualRanks;

// All that can be seen from outside.
struct Outcome {
  double seconds = 0;
  std::uint64_t events = 0;
  std::vector<std::uint64_t> messages, bytes;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome(const Call& call, DType type, Reduction how, bool ghost) {
  VirtualRanks::Link link;
  link.alpha = std::chrono::microseconds(50);
  link.seconds_per_byte = 0.8e-9;
  VirtualRanks ranks(static_cast<int>(call.members), link);
  const Group group = everyone(ranks.size());
  std::vector<std::vector<double>> memory(group.size(), std::vector<double>(ghost ? 0 : call.count));
  ranks.run_all([&](Rank rank, Transport& net) {
    auto* const bytes = reinterpret_cast<std::byte*>(memory[static_cast<std::size_t>(rank)].data());
    return perform(call, net, group, group.back(), Data(ghost ? nullptr : bytes, call.count, type), how);
  });
  Outcome seen{ranks.seconds(), ranks.scheduler().events(), {}, {}};
  for (const Rank rank : group) {
    seen.messages.push_back(ranks.at(rank).traffic().messages);
    seen.bytes.push_back(ranks.at(rank).traffic().bytes);
  }
  return seen;
}

TEST(Ghost, CostsWhatDataWithMemoryCosts) {
  for (const std::size_t members : {2, 3, 4, 7, 8, 12, 17}) {
    for (const std::size_t count : {std::size_t{1}, members - 1, std::size_t{1000}, std::size_t{4096}}) {
      for (int kind = 0; kind < static_cast<int>(Collective::kBarrier); ++kind) {
        for (const Algorithm algorithm : kByMessages) {
          const Call call{static_cast<Collective>(kind), algorithm, members, count, 4};
          for (const Reduction how : {Reduction::sum(), Reduction::weighted_mean(0.5)}) {
            for (const DType type : {DType::kFloat32, DType::kFloat16}) {
              ASSERT_EQ(outcome(call, type, how, true), outcome(call, type, how, false))
                  << "collective " << kind << " by " << name_of(algorithm) << ", " << members << " members, "
                  << count << " elements";
            }
          }
        }
      }
    }
  }
}

std::size_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

TEST(Ghost, AGigabyteNeedsNoMemory) {
  const std::size_t before = peak_bytes();
  for (const Algorithm algorithm : kByMessages) {
    VirtualRanks ranks(64);
    const Group group = everyone(64);
    const Data data(nullptr, std::size_t{250'000'000}, DType::kFloat32);
    ranks.run_all(
        [&](Rank, Transport& net) { return all_reduce(net, group, data, Reduction::mean(), 1, algorithm); });
  }
  EXPECT_LT(peak_bytes() - before, std::size_t{32} << 20);
}

TEST(Ghost, APartOfAGhostIsAGhost) {
  const Data data(nullptr, 10, DType::kFloat64);
  EXPECT_TRUE(data.ghost());
  EXPECT_EQ(data.size(), 80u);
  EXPECT_TRUE(data.part(2, 5).ghost());
  EXPECT_EQ(data.part(2, 5).size(), 24u);
  EXPECT_FALSE(data.part(3, 3).ghost());
  EXPECT_FALSE(Data().ghost());
}

// If one member brings memory and another does not, the member that lacks values gets the error.
TEST(Ghost, DoesNotMixWithMemory) {
  std::vector<float> values(8, 1.0f);
  VirtualRanks ranks(2);
  for (Rank rank = 0; rank < 2; ++rank) {
    const Data data = rank == 0 ? testing::data_of(values) : Data(nullptr, 8, DType::kFloat32);
    ranks.start(rank, all_reduce(ranks.at(rank), everyone(2), data, Reduction::sum(), 1));
  }
  ranks.run();
  try {
    ASSERT_TRUE(ranks.error(0));
    std::rethrow_exception(ranks.error(0));
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "rank 0: message 1 of 32 bytes from rank 1 has a size and no memory, the receive wants its bytes");
  }
  EXPECT_EQ(values, std::vector<float>(8, 1.0f));
}

}  // namespace
}  // namespace starling::collective
