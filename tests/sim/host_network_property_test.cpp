// Rings against their formula, random flows against the capacities of the sides they pass, and replays.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/core/random.h"
#include "starling/runtime/run.h"
#include "starling/runtime/scope.h"
#include "starling/sim/host_network.h"
#include "starling/transport/inproc.h"
#include "tests/sim/parcels.h"

namespace starling::sim {
namespace {

using namespace std::chrono_literals;
using collective::Algorithm;
using collective::Data;
using runtime::Scope;
using runtime::Task;
using runtime::VirtualScheduler;
using testing::one_rank_each;
using testing::Parcel;
using testing::run_until;

constexpr double kAlpha = 50e-6;
constexpr double kBytesPerSecond = 1.25e9;

double seconds(Time time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

// Seconds of an all-reduce of ghosts by one rank per host.
double all_reduce_time(VirtualScheduler& scheduler, int ranks, std::size_t count, Algorithm algorithm) {
  const std::vector<cluster::HostSpec> hosts(static_cast<std::size_t>(ranks),
                                             cluster::HostSpec{"host", {kBytesPerSecond, 50us}, {1e10, 1us}});
  HostNetwork network(hosts, one_rank_each(ranks));
  transport::InprocWorld world(scheduler, ranks, network);
  const Group group = one_rank_each(ranks);
  const auto all = [&]() -> Task<> {
    Scope scope(co_await runtime::this_context());
    for (Rank rank = 0; rank < ranks; ++rank) {
      const Data ghost(nullptr, count, DType::kFloat32);
      scope.spawn(all_reduce(world.at(rank), group, ghost, collective::Reduction::mean(), 1, algorithm));
    }
    co_await scope.join();
  };
  runtime::run(scheduler, all());
  return seconds(scheduler.now());
}

TEST(HostNetworkProperty, ARingTakesTheTimeOfItsFormula) {
  for (const int ranks : {2, 3, 4, 5, 8, 16, 31, 64}) {
    for (const std::size_t count :
         {std::size_t{100'000}, std::size_t{10'000'000}, std::size_t{250'000'000}}) {
      VirtualScheduler scheduler(static_cast<std::uint64_t>(ranks));
      const double bytes = static_cast<double>(count * sizeof(float));
      const double expected = 2.0 * (ranks - 1) * (kAlpha + bytes / ranks / kBytesPerSecond);
      EXPECT_NEAR(all_reduce_time(scheduler, ranks, count, Algorithm::kRing), expected, expected * 1e-3)
          << ranks << " ranks, " << count << " elements";
    }
  }
}

TEST(HostNetworkProperty, SeedsDoNotChangeWhatATransferTakes) {
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDoubling, Algorithm::kHalving}) {
    for (const int ranks : {2, 7, 16, 24}) {
      VirtualScheduler plain;
      const double expected = all_reduce_time(plain, ranks, 12'345, algorithm);
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        VirtualScheduler once(seed), again(seed);
        EXPECT_EQ(all_reduce_time(once, ranks, 12'345, algorithm), expected) << ranks << " ranks";
        EXPECT_EQ(all_reduce_time(again, ranks, 12'345, algorithm), expected);
        EXPECT_EQ(once.events(), again.events());
      }
    }
  }
}

// Random flows between ranks on few hosts, some of them cancelled, while links get worse and better.
class Traffic {
 public:
  static constexpr int kHosts = 4;
  static constexpr int kRanks = 8;
  static constexpr Duration kLatency = 100ns;

  explicit Traffic(std::uint64_t seed) : random_(seed) {
    for (Rank rank = 0; rank < kRanks; ++rank) host_of_.push_back(random_.between(0, kHosts - 1));
    for (int host = 0; host < kHosts; ++host) {
      hosts_.push_back({"host", {1e8 * random_.between(1, 20), kLatency}, {1e9, kLatency}});
    }
  }

  void run(VirtualScheduler& scheduler, bool disturbed) {
    HostNetwork network(hosts_, host_of_);
    std::deque<std::optional<Parcel>> parcels;
    for (int i = 0; i < 150; ++i) {
      const auto bytes = static_cast<std::size_t>(300 + random_.below(20'000));
      const Rank from = random_.between(0, kRanks - 1), to = random_.between(0, kRanks - 1);
      parcels.emplace_back(std::in_place, scheduler, network, from, to, bytes);
      if (random_.chance(0.5)) run_until(scheduler, scheduler.now() + Duration(random_.below(20'000)));
      if (disturbed && random_.chance(0.1)) parcels[random_.below(parcels.size())].reset();
      if (disturbed && random_.chance(0.1)) {
        network.set_outside(scheduler, random_.between(0, kHosts - 1), random_.between(1, 9));
      }
    }
    run_until(scheduler, scheduler.now() + 10s);
    for (const auto& parcel : parcels) {
      if (!parcel) continue;
      ASSERT_TRUE(parcel->here());
      done_.push_back(
          {parcel->started(), parcel->arrived() - kLatency, parcel->from, parcel->to, parcel->bytes});
    }
  }

  // In no window did more bytes pass a side than it can carry: messages that began and ended within it count.
  void check() const {
    for (int host = 0; host < kHosts; ++host) {
      const cluster::HostSpec& spec = hosts_[static_cast<std::size_t>(host)];
      check_side(spec.outside, [&](const Done& flow) { return leaves(flow) && host_of(flow.from) == host; });
      check_side(spec.outside, [&](const Done& flow) { return leaves(flow) && host_of(flow.to) == host; });
      check_side(spec.inside, [&](const Done& flow) { return !leaves(flow) && host_of(flow.to) == host; });
    }
  }

  // The same flows in small steps: in each, all rates are computed anew, up to the next start or end.
  void compare_with_steps() const {
    std::vector<double> left, ended(done_.size(), -1);
    for (const Done& flow : done_) left.push_back(static_cast<double>(flow.bytes));
    for (double now = 0;;) {
      std::vector<std::size_t> active;
      double next = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < done_.size(); ++i) {
        if (ended[i] >= 0) continue;
        const double begin = seconds(done_[i].begin);
        if (begin > now) next = std::min(next, begin);
        if (begin <= now) active.push_back(i);
      }
      std::vector<double> rates;
      for (const std::size_t i : active) {
        rates.push_back(rate_among(active, i));
        next = std::min(next, now + left[i] / rates.back());
      }
      if (next == std::numeric_limits<double>::infinity()) break;
      for (std::size_t at = 0; at < active.size(); ++at) {
        left[active[at]] -= rates[at] * (next - now);
        if (left[active[at]] < 1e-6) ended[active[at]] = next;
      }
      now = next;
    }
    for (std::size_t i = 0; i < done_.size(); ++i) {
      ASSERT_NEAR(ended[i], seconds(done_[i].end), 20e-9) << done_[i].bytes << " bytes";
    }
  }

  std::vector<Duration> times() const {
    std::vector<Duration> all;
    for (const Done& flow : done_) all.push_back(flow.end - flow.begin);
    return all;
  }

 private:
  struct Done {
    Time begin;
    Time end;
    Rank from;
    Rank to;
    std::size_t bytes;
  };

  int host_of(Rank rank) const { return host_of_[static_cast<std::size_t>(rank)]; }
  bool leaves(const Done& flow) const { return host_of(flow.from) != host_of(flow.to); }

  template <class Passes>
  void check_side(const cluster::Link& link, Passes passes) const {
    for (const Done& first : done_) {
      if (!passes(first)) continue;
      for (const Done& last : done_) {
        double bytes = 0;
        for (const Done& flow : done_) {
          const bool within = flow.begin >= first.begin && flow.end <= last.end;
          if (within && passes(flow)) bytes += static_cast<double>(flow.bytes);
        }
        const double nanoseconds = static_cast<double>((last.end - first.begin).count()) + 1;
        if (bytes == 0) continue;
        ASSERT_LE(bytes, link.bytes_per_second * nanoseconds * 1e-9 * (1 + 1e-9));
      }
    }
  }

  double rate_among(const std::vector<std::size_t>& active, std::size_t self) const {
    const Done& flow = done_[self];
    double leaving = 0, coming = 0;
    for (const std::size_t other : active) {
      if (leaves(done_[other]) != leaves(flow)) continue;
      leaving += host_of(done_[other].from) == host_of(flow.from) ? 1 : 0;
      coming += host_of(done_[other].to) == host_of(flow.to) ? 1 : 0;
    }
    const cluster::HostSpec& from = hosts_[static_cast<std::size_t>(host_of(flow.from))];
    const cluster::HostSpec& to = hosts_[static_cast<std::size_t>(host_of(flow.to))];
    if (!leaves(flow)) return from.inside.bytes_per_second / leaving;
    return std::min(from.outside.bytes_per_second / leaving, to.outside.bytes_per_second / coming);
  }

  Random random_;
  std::vector<int> host_of_;
  std::vector<cluster::HostSpec> hosts_;
  std::vector<Done> done_;
};

TEST(HostNetworkProperty, EveryByteLeavesAtTheRateOfItsSides) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    VirtualScheduler scheduler(seed);
    Traffic traffic(seed);
    traffic.run(scheduler, false);
    traffic.check();
    traffic.compare_with_steps();
    if (HasFatalFailure()) return;
  }
}

TEST(HostNetworkProperty, DisturbedTrafficEndsAndReplays) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    VirtualScheduler first(seed), second(seed), plain;
    Traffic once(seed), again(seed), unshuffled(seed);
    once.run(first, true);
    again.run(second, true);
    unshuffled.run(plain, true);
    EXPECT_EQ(once.times(), again.times());
    EXPECT_EQ(first.events(), second.events());
    EXPECT_EQ(once.times(), unshuffled.times()) << "the order within an instant does not matter";
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace starling::sim
