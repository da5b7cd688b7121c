#include "starling/session/batch_shares.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cmath>
#include <memory>

#include "starling/core/random.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/session/service_rank.h"
#include "starling/session/session.h"
#include "starling/strategy/registry.h"
#include "tests/support/check.h"
#include "tests/support/refusal.h"
#include "tests/support/virtual_ranks.h"

namespace starling::session {
namespace {

using Kind = Share::Kind;
using strategy::OptionTexts;

// On virtual time, with random speeds: how often each batch was computed.
TEST(BatchShares, EveryBatchIsComputedOnceAtAnySpeeds) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const int workers = random.between(1, 6);
    const auto batches = static_cast<std::uint64_t>(random.between(1, 40));
    testing::VirtualRanks ranks(workers, {}, seed);
    std::deque<BatchShares> shares;
    std::deque<runtime::Scope> services;
    std::vector<int> computed(3 * batches);
    const auto work = [&](Rank rank, Duration step) -> runtime::Task<> {
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        for (;;) {
          const Share share =
              co_await shares[static_cast<std::size_t>(rank)].ask(ranks.at(rank), {epoch, batches});
          if (share.kind == Kind::kEnd) break;
          ++computed[epoch * batches + share.batch];
          co_await runtime::sleep_for(step);
        }
      }
    };
    for (Rank rank = 0; rank < workers; ++rank) shares.emplace_back(ShareRules{true, false}, rank, workers);
    for (Rank rank = 0; rank < workers; ++rank) {
      services.emplace_back(ranks.scheduler())
          .spawn(shares[static_cast<std::size_t>(rank)].serve(ranks.at(rank)));
    }
    for (Rank rank = 0; rank < workers; ++rank) {
      ranks.start(rank, work(rank, std::chrono::milliseconds(random.between(1, 10))));
    }
    ranks.run();
    for (Rank rank = 0; rank < workers; ++rank) EXPECT_FALSE(ranks.error(rank));
    EXPECT_EQ(computed, std::vector<int>(3 * batches, 1)) << "seed " << seed;
  }
}

// Counters that the forked ranks share.
class Tally {
 public:
  explicit Tally(std::size_t count) : count_(count) {
    void* const memory =
        mmap(nullptr, count * sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("mmap failed");
    counters_ = static_cast<Counter*>(memory);
    std::uninitialized_value_construct_n(counters_, count);
  }
  ~Tally() { munmap(counters_, count_ * sizeof(Counter)); }
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;
  std::atomic<int>& operator[](std::size_t index) { return counters_[index]; }
  std::size_t size() const { return count_; }

 private:
  using Counter = std::atomic<int>;
  std::size_t count_;
  Counter* counters_ = nullptr;
};

struct Training {
  std::string strategy;
  OptionTexts options = {};
  int workers = 4;
  ShareRules rules = {};
  std::uint64_t epochs = 3;
  std::uint64_t batches = 25;

  std::unique_ptr<strategy::Strategy> make() const {
    const auto& row = strategy::find_strategy(strategy);
    return row.make(strategy::Options::parse(row.options, row.name, options), workers);
  }
  Session::Options setting() const {
    Session::Options setting;
    setting.workers = workers;
    setting.sections = {{"x", 0, 2}};
    setting.equal_batches = false;
    setting.dynamic_shares = rules.dynamic;
    return setting;
  }
};

// One worker's life: all epochs, counted by batch; behind them the steps of each worker. `before` is called
// with every share.
void train(
    const Training& what, transport::Transport& net, Tally& tally,
    const std::function<void(std::uint64_t, const Share&)>& before = [](std::uint64_t, const Share&) {}) {
  const auto strategy = what.make();
  if (net.rank() >= what.workers) return run_service(net, *strategy, what.setting());
  const std::vector<float> model(2);
  Session session(static_cast<runtime::LoopScheduler&>(net.scheduler()), net, *strategy, what.setting(),
                  model);
  std::uint64_t epoch = 0;
  while (session.next()) {
    Share share = session.next_share(epoch, what.batches);
    while (share.kind == Kind::kEnd && ++epoch < what.epochs) share = session.next_share(epoch, what.batches);
    if (share.kind == Kind::kEnd) break;
    before(epoch, share);
    if (share.kind == Kind::kBatch) ++tally[epoch * what.batches + share.batch];
    ++tally[what.epochs * what.batches + static_cast<std::size_t>(net.rank())];
    std::fill(session.gradients().begin(), session.gradients().end(), 1.0F);
    session.computed({.samples = share.kind == Kind::kBatch ? 4U : 0U, .loss = 1});
  }
  session.finish();
  testing::check(std::isfinite(session.parameters()[0]), "a number");
}

int ranks_of(const Training& what) {
  return what.workers + (what.make()->service() == strategy::Placement::kOwnRank ? 1 : 0);
}

TEST(BatchShares, ByDemandEveryBatchIsComputedOnceByProcesses) {
  for (const Training& what :
       {Training{.strategy = "allreduce", .rules = {true, true}},
        Training{.strategy = "allreduce", .options = {{"schedule", "wfbp"}}, .rules = {true, true}},
        Training{.strategy = "local-sgd", .options = {{"period", "3"}}, .rules = {true, true}},
        Training{.strategy = "local-sgd",
        .options = {{"period", "3"}, {"period-by", "speed"}},
        .rules = {true, false}},
        Training{.strategy = "dpsgd", .rules = {true, true}},
        Training{.strategy = "adpsgd", .rules = {true, false}},
        Training{.strategy = "ripples", .rules = {true, false}},
        Training{.strategy = "ripples", .options = {{"groups", "static"}}, .rules = {true, true}},
        Training{.strategy = "ps", .rules = {true, false}},
        Training{.strategy = "ps", .options = {{"mode", "asp"}}, .rules = {true, false}},
        Training{
            .strategy = "ps", .options = {{"mode", "ssp"}, {"server", "beside"}}, .rules = {true, false}}}) {
    SCOPED_TRACE(what.strategy);
    Tally tally(what.epochs * what.batches + 4);
    launch::ForkedRanks ranks(ranks_of(what), [&](transport::Transport& net) { train(what, net, tally); });
    for (const launch::Outcome& outcome : ranks.wait())
      EXPECT_TRUE(outcome.good()) << outcome.error << outcome.signal;
    for (std::size_t i = 0; i < what.epochs * what.batches; ++i) EXPECT_EQ(tally[i], 1) << "batch " << i;
    for (std::size_t rank = 1; rank < 4 && what.rules.lockstep; ++rank) {
      EXPECT_EQ(tally[tally.size() - 4 + rank], tally[tally.size() - 4]) << "steps of rank " << rank;
    }
  }
}

TEST(BatchShares, EqualOnesLeaveTheRestOut) {
  const Training what{.strategy = "allreduce"};
  Tally tally(what.epochs * what.batches + 4);
  launch::ForkedRanks ranks(4, [&](transport::Transport& net) { train(what, net, tally); });
  for (const launch::Outcome& outcome : ranks.wait()) EXPECT_TRUE(outcome.good()) << outcome.error;
  for (std::size_t i = 0; i < what.epochs * what.batches; ++i) {
    EXPECT_EQ(tally[i], i % what.batches < 24 ? 1 : 0) << "batch " << i;
  }
}

// The others compute all that is left, each batch once; only that of the dead is missing.
TEST(BatchShares, ADeadWorkersBatchIsLost) {
  const Training what{.strategy = "ps", .options = {{"mode", "asp"}}, .rules = {true, false}};
  Tally tally(what.epochs * what.batches + 4);
  launch::ForkedRanks ranks(ranks_of(what), [&](transport::Transport& net) {
    int taken = 0;
    train(what, net, tally, [&](std::uint64_t, const Share&) {
      if (net.rank() == 2 && ++taken == 2) raise(SIGKILL);
    });
  });
  const auto outcomes = ranks.wait();
  int missing = 0;
  for (std::size_t i = 0; i < what.epochs * what.batches; ++i) {
    EXPECT_LE(tally[i], 1);
    missing += 1 - tally[i];
  }
  // Rank 2 may have been too late to get a second one.
  EXPECT_EQ(missing, outcomes[2].signal == SIGKILL ? 1 : 0);
  for (const std::size_t rank : {0, 1, 3, 4}) EXPECT_TRUE(outcomes[rank].good()) << outcomes[rank].error;
}

// Rank 0 dies in the first epoch with its fifth share: the next coordinator gives that one, and those that
// rank 0 had computed, to others.
TEST(BatchShares, WithoutRankZeroTheNextWorkerGivesThemOut) {
  for (const Training& what :
       {Training{.strategy = "dpsgd", .rules = {true, true}, .batches = 300},
        Training{.strategy = "ripples", .rules = {true, false}, .batches = 300},
        Training{.strategy = "ps", .options = {{"mode", "asp"}}, .rules = {true, false}, .batches = 300}}) {
    SCOPED_TRACE(what.strategy);
    Tally tally(what.epochs * what.batches + 4);
    launch::ForkedRanks ranks(ranks_of(what), [&](transport::Transport& net) {
      int taken = 0;
      train(what, net, tally, [&](std::uint64_t, const Share&) {
        if (net.rank() == 0 && ++taken == 5) raise(SIGKILL);
      });
    });
    const auto outcomes = ranks.wait();
    EXPECT_EQ(outcomes[0].signal, SIGKILL);
    for (std::size_t rank = 1; rank < outcomes.size(); ++rank)
      EXPECT_TRUE(outcomes[rank].good()) << outcomes[rank].error;
    int twice = 0;
    for (std::size_t i = 0; i < what.epochs * what.batches; ++i) {
      EXPECT_GE(tally[i], 1) << "batch " << i;
      EXPECT_LE(tally[i], 2) << "batch " << i;
      twice += tally[i] - 1;
    }
    EXPECT_LE(twice, 4);
  }
}

TEST(BatchShares, MistakesAreNamed) {
  const Training what{.strategy = "dpsgd", .workers = 2, .rules = {true, true}};
  launch::ForkedRanks ranks(2, [&](transport::Transport& net) {
    const auto strategy = what.make();
    const std::vector<float> model(2);
    Session session(static_cast<runtime::LoopScheduler&>(net.scheduler()), net, *strategy, what.setting(),
                    model);
    for (std::uint64_t epoch : {3U, 4U}) {
      testing::check(session.next(), "a batch is wanted");
      if (epoch == 3) session.next_share(3, 8);
      if (epoch == 4 && net.rank() == 0) session.next_share(4, 8);
      if (epoch == 4 && net.rank() == 1) {
        // Rank 0 has asked before it sends its model of the next step.
        testing::check_equal(testing::refusal([&] { session.next_share(3, 9); }),
                             "epoch 3 has 9 batches on rank 1 and 8 on others; allowed: equally many",
                             "batches");
        session.next_share(4, 8);
        testing::check_equal(
            testing::refusal([&] { session.next_share(3, 8); }),
            "a share of epoch 3 after one of epoch 4; allowed: the same epoch or a later one", "epochs");
      }
      session.computed({.samples = 1});
    }
    session.finish();
  });
  for (const launch::Outcome& outcome : ranks.wait()) EXPECT_TRUE(outcome.good()) << outcome.error;
}

TEST(BatchShares, ByDemandInLockstepNeedUnequalBatches) {
  EXPECT_NE(testing::refusal([] { check(ShareRules{true, true}, true); }).find("unequal"), std::string::npos);
  check(ShareRules{true, false}, true);
  check(ShareRules{false, true}, true);
}

}  // namespace
}  // namespace starling::session
