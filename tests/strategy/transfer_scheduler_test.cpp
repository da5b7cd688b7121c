#include "starling/strategy/schedule/transfer_scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "starling/core/error.h"
#include "tests/strategy/fake_worker.h"

namespace starling::strategy {
namespace {

using testing::FakeWorker;
using testing::VirtualRanks;

struct Note {
  std::size_t job = 0;
  Tag tag = 0;
  Time begin{};
  bool operator==(const Note& other) const { return job == other.job && tag == other.tag; }
};

// One rank: what it offered when, and what it carried.
struct Rider {
  std::vector<std::map<std::size_t, Time>> offered;  // by round
  std::vector<std::vector<Note>> carried;            // by round
  int under_way = 0;
  int most_under_way = 0;
  std::size_t done = 0;  // transfers of this round
};

// Ranks that become ready for the transfers of some rounds, each in an order and at times of its own.
class Ride {
 public:
  Ride(std::uint64_t seed, TransferScheduler::Order order)
      : random_(seed), order_(order), workers_(random_.between(1, 6)), window_(random_.between(1, 4)) {
    const VirtualRanks::Link link{std::chrono::microseconds(random_.between(0, 100)), 1e-9};
    info_ = testing::place_of(workers_, {});
    ranks_.emplace(workers_, link, seed);
    for (int round = random_.between(1, 3); round > 0; --round) {
      jobs_.push_back(static_cast<std::size_t>(random_.between(0, 12)));
    }
    for (Rank rank = 0; rank < workers_; ++rank) fakes_.emplace_back(info_, ranks_->at(rank));
    riders_.resize(static_cast<std::size_t>(workers_));
  }

  int workers() const { return workers_; }
  int window() const { return window_; }
  const std::vector<std::size_t>& jobs() const { return jobs_; }
  const std::vector<Rider>& riders() const { return riders_; }
  VirtualRanks& ranks() { return *ranks_; }

  void run() {
    for (Rank rank = 0; rank < workers_; ++rank) ranks_->start(rank, live_or_leave(rank));
    ranks_->run();
    // Transfers of one instant are noted in any order; the tags are in the true one.
    for (Rider& rider : riders_) {
      for (std::vector<Note>& round : rider.carried) {
        std::sort(round.begin(), round.end(), [](const Note& a, const Note& b) { return a.tag < b.tag; });
      }
    }
  }

 private:
  // A worker that ends with an error is lost to the others.
  Task<> live_or_leave(Rank rank) {
    std::exception_ptr error;
    try {
      co_await live(rank);
    } catch (...) {
      error = std::current_exception();
    }
    if (!error) co_return;
    ranks_->world().lose(rank, "it has ended");
    std::rethrow_exception(error);
  }

  Task<> live(Rank rank) {
    Rider& rider = riders_[static_cast<std::size_t>(rank)];
    FakeWorker& self = fakes_[static_cast<std::size_t>(rank)];
    Random random = random_.fork(static_cast<std::uint64_t>(rank));
    const runtime::Context& context = co_await runtime::this_context();
    AgreedExchange agreed(self);
    TransferScheduler transfers(
        self, agreed, order_, window_,
        [&](std::size_t job, const ExchangeTerms&, Tag tag) { return carry(self, rider, job, tag); },
        context);
    for (const std::size_t jobs : jobs_) {
      rider.done = 0;
      rider.offered.emplace_back();
      rider.carried.emplace_back();
      transfers.begin(jobs);
      std::vector<std::size_t> order(jobs);
      for (std::size_t job = 0; job < jobs; ++job) order[job] = job;
      random.shuffle(order);
      for (const std::size_t job : order) {
        co_await runtime::sleep_for(std::chrono::microseconds(random.between(0, 200)));
        rider.offered.back()[job] = self.now();
        transfers.offer(job);
      }
      for (transfers.check(); rider.done < jobs; transfers.check()) co_await transfers.news();
    }
  }

  Task<bool> carry(FakeWorker& self, Rider& rider, std::size_t job, Tag tag) {
    rider.carried.back().push_back({job, tag, self.now()});
    rider.most_under_way = std::max(rider.most_under_way, ++rider.under_way);
    co_await runtime::sleep_for(std::chrono::microseconds(self.random().between(0, 100)));
    co_await collective::barrier(self.net(), self.everyone(), tag);
    --rider.under_way;
    ++rider.done;
    co_return true;
  }

  Random random_;
  TransferScheduler::Order order_;
  int workers_;
  int window_;
  RunInfo info_;
  std::vector<std::size_t> jobs_;
  std::vector<Rider> riders_;
  std::optional<VirtualRanks> ranks_;
  std::deque<FakeWorker> fakes_;
};

void expect_all_carried(const Ride& ride) {
  for (const Rider& rider : ride.riders()) {
    EXPECT_LE(rider.most_under_way, ride.window());
    ASSERT_EQ(rider.carried.size(), ride.jobs().size());
    for (std::size_t round = 0; round < ride.jobs().size(); ++round) {
      EXPECT_EQ(rider.carried[round].size(), ride.jobs()[round]);
      EXPECT_EQ(rider.carried[round], ride.riders().front().carried[round]);
    }
  }
}

TEST(TransferScheduler, ByNumbersTheNumbersAreTheOrder) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    Ride ride(seed, TransferScheduler::Order::kNumbers);
    ride.run();
    for (Rank rank = 0; rank < ride.workers(); ++rank) ASSERT_FALSE(ride.ranks().error(rank));
    expect_all_carried(ride);
    for (const std::vector<Note>& round : ride.riders().front().carried) {
      for (std::size_t i = 0; i < round.size(); ++i) EXPECT_EQ(round[i].job, i);
    }
  }
}

// The leader takes the lowest transfer that it was ready for before that instant.
void expect_lowest_first(const Rider& leader) {
  for (std::size_t round = 0; round < leader.carried.size(); ++round) {
    std::map<std::size_t, Time> waiting = leader.offered[round];
    for (const Note& note : leader.carried[round]) {
      waiting.erase(note.job);
      for (const auto& [job, since] : waiting) {
        EXPECT_TRUE(job > note.job || since >= note.begin) << "job " << note.job << " before job " << job;
      }
    }
  }
}

TEST(TransferScheduler, TheLeaderTakesTheLowestAndTheOthersFollow) {
  bool full = false, out_of_order = false;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    Ride ride(seed, TransferScheduler::Order::kLeader);
    ride.run();
    for (Rank rank = 0; rank < ride.workers(); ++rank) ASSERT_FALSE(ride.ranks().error(rank));
    expect_all_carried(ride);
    expect_lowest_first(ride.riders().front());
    full |= ride.window() > 1 && ride.riders().front().most_under_way == ride.window();
    for (const std::vector<Note>& round : ride.riders().front().carried) {
      out_of_order |= round.size() > 1 && round[0].job > round[1].job;
    }
  }
  EXPECT_TRUE(full && out_of_order) << "the rides are too tame";
}

TEST(TransferScheduler, ALostRankEndsItForAll) {
  int ended = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    Random random(seed + 5000);
    Ride ride(seed,
              random.chance(0.3) ? TransferScheduler::Order::kNumbers : TransferScheduler::Order::kLeader);
    const Rank victim = random.between(0, ride.workers() - 1);
    ride.ranks().kill_at(random.below(400), victim);
    ride.run();
    for (Rank rank = 0; rank < ride.workers(); ++rank) {
      if (!ride.ranks().error(rank)) continue;
      ++ended;
      EXPECT_THROW(std::rethrow_exception(ride.ranks().error(rank)), PeerLost);
    }
  }
  EXPECT_GT(ended, 100);
}

// The error does not reach workers that wait meanwhile, but no worker that asks goes on as if all were well.
Task<> fail_at_the_second(FakeWorker& self, std::vector<std::size_t>& carried) {
  const runtime::Context& context = co_await runtime::this_context();
  const auto carry = [&](std::size_t job, const ExchangeTerms&, Tag) -> Task<bool> {
    co_await runtime::sleep_for(std::chrono::microseconds(1));
    if (job == 1) throw Error("it broke");
    carried.push_back(job);
    co_return true;
  };
  AgreedExchange agreed(self);
  TransferScheduler transfers(self, agreed, TransferScheduler::Order::kNumbers, 1, carry, context);
  transfers.begin(3);
  for (const std::size_t job : {2, 1, 0}) transfers.offer(job);
  for (;;) {
    transfers.check();
    co_await transfers.news();
  }
}

TEST(TransferScheduler, AnErrorReachesWhoAsks) {
  VirtualRanks ranks(1);
  const RunInfo place = testing::place_of(1, {});
  FakeWorker self(place, ranks.at(0));
  std::vector<std::size_t> carried;
  ranks.start(0, fail_at_the_second(self, carried));
  ranks.run();
  ASSERT_TRUE(ranks.error(0));
  EXPECT_THROW(std::rethrow_exception(ranks.error(0)), Error);
  EXPECT_EQ(carried, std::vector<std::size_t>{0}) << "nothing begins after an error";
}

Task<> fail_beside(FakeWorker& self) {
  const runtime::Context& context = co_await runtime::this_context();
  AgreedExchange agreed(self);
  TransferScheduler transfers(
      self, agreed, TransferScheduler::Order::kLeader, 1,
      [](std::size_t, const ExchangeTerms&, Tag) -> Task<bool> { co_return true; }, context);
  const auto fail = []() -> Task<> {
    co_await runtime::sleep_for(std::chrono::microseconds(1));
    throw Error("it broke");
  };
  transfers.beside(fail(), "trouble");
  co_await transfers.news();
  transfers.check();
}

TEST(TransferScheduler, AnErrorBesideTheTransfersCountsAsOneOfThem) {
  VirtualRanks ranks(1);
  const RunInfo place = testing::place_of(1, {});
  FakeWorker self(place, ranks.at(0));
  ranks.start(0, fail_beside(self));
  ranks.run();
  ASSERT_TRUE(ranks.error(0));
}

}  // namespace
}  // namespace starling::strategy
