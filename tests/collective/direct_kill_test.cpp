// All or nothing: a member of a direct all-reduce is killed at any moment. Every survivor must hold the
// complete result, or every survivor its old data and PeerLost; never a mixture, within a rank or among them.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "starling/collective/direct.h"
#include "starling/core/error.h"
#include "starling/core/random.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/run.h"
#include "starling/transport/shared_memory.h"

namespace starling::collective {
namespace {

constexpr int kForkedRanks = 4;
constexpr std::size_t kForkedCount = 150'000;  // several pieces for each member, the last one odd

std::int32_t brought_by(Rank rank, std::size_t i) {
  return static_cast<std::int32_t>(i % 977) * (rank + 1) + rank;
}

std::int32_t total(std::size_t i) {
  std::int32_t sum = 0;
  for (Rank rank = 0; rank < kForkedRanks; ++rank) sum += brought_by(rank, i);
  return sum;
}

// A survivor reports this through its exit code.
enum Report : int { kComplete = 10, kOld = 11, kMixture = 12, kWrongError = 13 };

int judge(std::span<const std::int32_t> data, Rank rank, bool lost) {
  bool all_old = true;
  bool all_new = true;
  for (std::size_t i = 0; i < data.size(); ++i) {
    all_old &= data[i] == brought_by(rank, i);
    all_new &= data[i] == total(i);
  }
  if (all_new && !lost) return kComplete;
  if (all_old && lost) return kOld;
  return kMixture;
}

Group everyone() { return {0, 1, 2, 3}; }

// One all-reduce. `in_arena` or from private memory, which is staged.
void take_part(transport::Transport& net, bool in_arena) {
  net.set_patience(std::chrono::seconds(60));
  transport::Memory memory;
  std::vector<std::int32_t> heap;
  std::span<std::int32_t> data;
  if (in_arena) {
    memory = net.allocate(kForkedCount * sizeof(std::int32_t));
    data = {reinterpret_cast<std::int32_t*>(memory.bytes.data()), kForkedCount};
  } else {
    heap.resize(kForkedCount);
    data = heap;
  }
  for (std::size_t i = 0; i < kForkedCount; ++i) data[i] = brought_by(net.rank(), i);
  bool lost = false;
  try {
    runtime::run(net.scheduler(), direct_all_reduce(net, everyone(), Data(data), Reduction::sum(), 1));
  } catch (const PeerLost&) {
    lost = true;
  } catch (const std::exception&) {
    _exit(kWrongError);
  }
  _exit(judge(data, net.rank(), lost));
}

struct Aftermath {
  int killed = 0;
  std::map<int, int> reports;  // how many survivors reported what, e.g. {kComplete: 3}

  explicit Aftermath(const std::vector<launch::Outcome>& outcomes) {
    for (const auto& outcome : outcomes) {
      if (outcome.signal == SIGKILL) {
        ++killed;
      } else {
        ++reports[outcome.exit_code];
      }
    }
  }
  std::string show() const {
    std::string text = concat(killed, " killed");
    for (const auto& [code, count] : reports) text += concat(", ", count, " report ", code);
    return text;
  }
};

// The victim dies at the n-th fault point it passes: before a sum, before it is numbered, between two copies.
Aftermath kill_at_fault_point(Rank victim, int n, bool in_arena) {
  launch::ForkedRanks ranks(kForkedRanks, [=](transport::Transport& net) {
    if (net.rank() == victim) {
      int left = n;
      net.shared()->fault_point = [left](const char*) mutable {
        if (left-- == 0) raise(SIGKILL);
      };
    }
    take_part(net, in_arena);
  });
  return Aftermath(ranks.wait());
}

// Killed from outside, at any instruction: after a random time from its start.
Aftermath kill_at_time(Rank victim, std::chrono::microseconds delay, bool in_arena) {
  launch::ForkedRanks ranks(kForkedRanks, [=](transport::Transport& net) { take_part(net, in_arena); });
  std::this_thread::sleep_for(delay);
  ranks.kill(victim, SIGKILL);
  return Aftermath(ranks.wait());
}

void expect_all_or_nothing(const Aftermath& seen) {
  EXPECT_EQ(seen.reports.size(), 1U) << seen.show();
  const int code = seen.reports.begin()->first;
  EXPECT_TRUE(code == kComplete || code == kOld) << seen.show();
}

// A trial in which the victim was done before it could die says nothing; such trials are not counted.
constexpr int kKills = 100;
constexpr int kTrials = 10 * kKills;

TEST(DirectKillTest, AtFaultPointsInsideTheCopyLoops) {
  Random random(20261115);
  int complete = 0;
  int kills = 0;
  for (int trial = 0; trial < kTrials && kills < kKills; ++trial) {
    const Rank victim = random.between(0, kForkedRanks - 1);
    const int point = random.between(0, 30);
    SCOPED_TRACE(concat("trial ", trial, ": rank ", victim, " dies at fault point ", point));
    const auto seen = kill_at_fault_point(victim, point, trial % 4 != 3);
    expect_all_or_nothing(seen);
    kills += seen.killed;
    complete += seen.killed > 0 && seen.reports.count(kComplete) != 0 ? 1 : 0;
  }
  EXPECT_EQ(kills, kKills);
  // A member that works has posted, so the survivors can always finish.
  EXPECT_EQ(complete, kKills);
}

TEST(DirectKillTest, AtRandomTimes) {
  Random random(42);
  int kills = 0;
  int complete = 0;
  for (int trial = 0; trial < kTrials && kills < kKills; ++trial) {
    const Rank victim = random.between(0, kForkedRanks - 1);
    const std::chrono::microseconds delay(random.between(0, 4000));
    SCOPED_TRACE(concat("trial ", trial, ": rank ", victim, " dies after ", delay.count(), " us"));
    const auto seen = kill_at_time(victim, delay, trial % 4 != 3);
    expect_all_or_nothing(seen);
    kills += seen.killed;
    complete += seen.killed > 0 && seen.reports.count(kComplete) != 0 ? 1 : 0;
  }
  EXPECT_EQ(kills, kKills);
  RecordProperty("complete", complete);
  RecordProperty("old", kills - complete);
}

TEST(DirectKillTest, AMemberThatNeverComesLeavesOldData) {
  launch::ForkedRanks ranks(kForkedRanks, [](transport::Transport& net) {
    if (net.rank() == 2) raise(SIGKILL);
    take_part(net, true);
  });
  EXPECT_EQ(Aftermath(ranks.wait()).reports, (std::map<int, int>{{kOld, 3}}));
}

// The others end because of it, and say so before we arrive: the dead one still matters.
TEST(DirectKillTest, TheDeadAreNamedNotThoseWhoLeftForThem) {
  launch::ForkedRanks ranks(kForkedRanks, [](transport::Transport& net) {
    if (net.rank() == 1) raise(SIGKILL);
    const auto others_are_gone = [&] {
      return net.shared()->gone(1) && net.shared()->gone(2) && net.shared()->gone(3);
    };
    while (net.rank() == 0 && !others_are_gone()) std::this_thread::yield();
    std::vector<std::int32_t> data(1);
    try {
      runtime::run(net.scheduler(),
                   direct_all_reduce(net, everyone(), Data(std::span(data)), Reduction::sum(), 1));
    } catch (const PeerLost& lost) {
      if (lost.rank != 1) throw;
    }
  });
  const auto outcomes = ranks.wait();
  for (const Rank rank : {0, 2, 3})
    EXPECT_TRUE(outcomes[static_cast<std::size_t>(rank)].good())
        << outcomes[static_cast<std::size_t>(rank)].error;
}

// Two members die in the same exchange; the second one while it redoes the work of the first, maybe.
TEST(DirectKillTest, TwoMembersDie) {
  Random random(7);
  int both = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const Rank first = random.between(0, kForkedRanks - 1);
    const Rank second = (first + random.between(1, kForkedRanks - 1)) % kForkedRanks;
    const int points[2] = {random.between(0, 20), random.between(0, 30)};
    launch::ForkedRanks ranks(kForkedRanks, [&](transport::Transport& net) {
      if (net.rank() == first || net.rank() == second) {
        int left = points[net.rank() == first ? 0 : 1];
        net.shared()->fault_point = [left](const char*) mutable {
          if (left-- == 0) raise(SIGKILL);
        };
      }
      take_part(net, true);
    });
    const Aftermath seen(ranks.wait());
    EXPECT_EQ(seen.reports, (std::map<int, int>{{kComplete, kForkedRanks - seen.killed}}))
        << "trial " << trial;
    both += seen.killed == 2 ? 1 : 0;
  }
  EXPECT_GT(both, 0);
}

}  // namespace
}  // namespace starling::collective
