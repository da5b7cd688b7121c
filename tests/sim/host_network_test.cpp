#include "starling/sim/host_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/core/random.h"
#include "starling/runtime/run.h"
#include "starling/runtime/virtual_scheduler.h"
#include "tests/sim/parcels.h"

namespace starling::sim {
namespace {

using namespace std::chrono_literals;
using runtime::VirtualScheduler;
using testing::one_rank_each;
using testing::Parcel;
using testing::run_until;

// 1 GB/s outside, a nanosecond per byte, and 10 GB/s inside.
constexpr cluster::Link kOutside{1e9, 5us};
constexpr cluster::Link kInside{10e9, 1us};

std::vector<cluster::HostSpec> equal_hosts(int hosts) {
  return std::vector<cluster::HostSpec>(static_cast<std::size_t>(hosts),
                                        cluster::HostSpec{"host", kOutside, kInside});
}

class HostNetworkTest : public ::testing::Test {
 protected:
  VirtualScheduler scheduler_;
  HostNetwork network_{equal_hosts(4), one_rank_each(4)};

  Parcel send(Rank from, Rank to, std::size_t bytes) { return Parcel(scheduler_, network_, from, to, bytes); }
};

TEST_F(HostNetworkTest, AMessageTakesLatencyPlusBytesOverBandwidth) {
  Parcel empty = send(0, 1, 0), small = send(1, 2, 1), large = send(2, 3, 1 << 20);
  run_until(scheduler_, Time(1s));
  EXPECT_EQ(empty.arrived(), Time(5us));
  EXPECT_EQ(small.arrived(), Time(5001ns));
  EXPECT_EQ(large.arrived(), Time(5us + Duration(1 << 20)));
}

// 100 ns each on the side they share, beside a flow that takes no notice of them.
TEST_F(HostNetworkTest, NotesPassOneAfterTheOther) {
  Parcel flow = send(0, 1, 10'000);
  Parcel first = send(0, 1, 100), second = send(0, 2, 100), third = send(3, 2, 100);
  run_until(scheduler_, Time(1s));
  EXPECT_EQ(first.arrived(), Time(5100ns));
  EXPECT_EQ(second.arrived(), Time(5200ns));
  EXPECT_EQ(third.arrived(), Time(5200ns));  // the second one into host 2
  EXPECT_EQ(flow.arrived(), Time(15us));
}

TEST_F(HostNetworkTest, TwoFlowsOverOneLinkTakeTwiceAsLong) {
  Parcel out_a = send(0, 1, 10'000), out_b = send(0, 2, 10'000);
  run_until(scheduler_, Time(100us));
  EXPECT_EQ(out_a.arrived(), Time(25us));
  EXPECT_EQ(out_b.arrived(), Time(25us));
  Parcel in_a = send(1, 0, 10'000), in_b = send(2, 0, 10'000);
  run_until(scheduler_, Time(1s));
  EXPECT_EQ(in_a.arrived(), Time(125us));
  EXPECT_EQ(in_b.arrived(), Time(125us));
}

TEST_F(HostNetworkTest, DirectionsAndOtherHostsDoNotDisturb) {
  Parcel there = send(0, 1, 10'000), back = send(1, 0, 10'000), elsewhere = send(2, 3, 10'000);
  run_until(scheduler_, Time(1s));
  for (const Parcel* parcel : {&there, &back, &elsewhere}) EXPECT_EQ(parcel->arrived(), Time(15us));
}

// 4 us alone, then half the rate: 6000 bytes of the first take 12 us more, in which 6000 bytes of the second
// leave; its other 2000 have the link for themselves.
TEST_F(HostNetworkTest, ALaterFlowTakesHalfFromThenOn) {
  Parcel first = send(0, 1, 10'000);
  run_until(scheduler_, Time(4us));
  Parcel second = send(0, 2, 8'000);
  run_until(scheduler_, Time(1s));
  EXPECT_EQ(first.arrived(), Time(16us + 5us));
  EXPECT_EQ(second.arrived(), Time(18us + 5us));
}

TEST_F(HostNetworkTest, AMessageOccupiesNothingDuringItsLatency) {
  Parcel first = send(0, 1, 1'000);
  run_until(scheduler_, Time(1us));
  Parcel second = send(0, 1, 1'000);
  run_until(scheduler_, Time(1s));
  EXPECT_EQ(first.arrived(), Time(6us));
  EXPECT_EQ(second.arrived(), Time(7us));
}

// The shares at rank 0 are a third each; at rank 1 there is one flow more, so that a half would be possible.
TEST_F(HostNetworkTest, TheSmallerShareCountsAndTheRestOfTheLargerIsLost) {
  Parcel a = send(0, 1, 3'000), b = send(0, 2, 3'000), c = send(0, 3, 3'000), d = send(2, 1, 3'000);
  run_until(scheduler_, Time(1s));
  for (const Parcel* parcel : {&a, &b, &c}) EXPECT_EQ(parcel->arrived(), Time(9us + 5us));
  EXPECT_EQ(d.arrived(), Time(6us + 5us));
}

TEST_F(HostNetworkTest, CancellingSpeedsUpTheOther) {
  Parcel stays = send(0, 1, 10'000);
  {
    Parcel gone = send(0, 2, 10'000);
    run_until(scheduler_, Time(8us));
    EXPECT_FALSE(gone.here());
  }
  run_until(scheduler_, Time(1s));
  EXPECT_EQ(stays.arrived(), Time(8us + 6us + 5us));
}

TEST_F(HostNetworkTest, CancellingWhatHasLeftChangesNothing) {
  std::optional<Parcel> first(std::in_place, scheduler_, network_, 0, 1, 1'000);
  run_until(scheduler_, Time(2us));
  Parcel second = send(0, 1, 1'000);  // takes over the entry of the first, which is in its latency
  first.reset();
  run_until(scheduler_, Time(1s));
  EXPECT_EQ(second.arrived(), Time(8us));
}

TEST_F(HostNetworkTest, CancellingInTheInstantOfTheStart) {
  Parcel stays = send(0, 1, 1'000);
  { const Parcel gone = send(0, 1, 1'000); }
  run_until(scheduler_, Time(1s));
  EXPECT_EQ(stays.arrived(), Time(6us));
}

// Half of it at full rate, the other half at a quarter.
TEST_F(HostNetworkTest, ADegradedLinkSlowsFlowsUnderWay) {
  for (const int host : {0, 1}) {  // either end
    const Time begin = scheduler_.now();
    Parcel parcel = send(0, 1, 10'000);
    Parcel elsewhere = send(2, 3, 10'000);
    run_until(scheduler_, begin + 5us);
    network_.set_outside(scheduler_, host, 4);
    run_until(scheduler_, begin + 1ms);
    EXPECT_EQ(parcel.arrived(), begin + 5us + 20us + 5us);
    EXPECT_EQ(elsewhere.arrived(), begin + 15us);
    network_.set_outside(scheduler_, host, 1);
    Parcel healed = send(0, 1, 10'000);
    run_until(scheduler_, begin + 2ms);
    EXPECT_EQ(healed.arrived(), begin + 1ms + 15us);
  }
}

TEST(HostNetwork, RanksOfOneHostHaveTheirOwnLink) {
  VirtualScheduler scheduler;
  HostNetwork network(equal_hosts(2), {0, 0, 1, 1});
  Parcel inside(scheduler, network, 0, 1, 10'000), outside(scheduler, network, 0, 2, 10'000);
  Parcel other_host(scheduler, network, 2, 3, 20'000);
  run_until(scheduler, Time(1s));
  EXPECT_EQ(inside.arrived(), Time(2us));
  EXPECT_EQ(outside.arrived(), Time(15us));
  EXPECT_EQ(other_host.arrived(), Time(3us));

  const Time begin = scheduler.now();
  Parcel there(scheduler, network, 0, 1, 10'000), back(scheduler, network, 1, 0, 10'000),
      self(scheduler, network, 0, 0, 10'000);
  run_until(scheduler, begin + 1s);
  for (const Parcel* parcel : {&there, &back, &self}) EXPECT_EQ(parcel->arrived(), begin + 4us);
}

TEST(HostNetwork, RanksOfOneHostShareItsWayOut) {
  VirtualScheduler scheduler;
  HostNetwork network(equal_hosts(2), {0, 0, 0, 0, 1, 1, 1, 1});
  std::deque<Parcel> parcels;
  for (Rank rank = 0; rank < 4; ++rank) parcels.emplace_back(scheduler, network, rank, rank + 4, 10'000);
  run_until(scheduler, Time(1s));
  for (const Parcel& parcel : parcels) EXPECT_EQ(parcel.arrived(), Time(45us));
}

TEST(HostNetwork, TheLargerLatencyOfTwoHostsCounts) {
  VirtualScheduler scheduler;
  std::vector<cluster::HostSpec> hosts = equal_hosts(2);
  hosts[1].outside.latency = 1ms;
  HostNetwork network(hosts, {0, 1});
  Parcel there(scheduler, network, 0, 1, 0), back(scheduler, network, 1, 0, 0);
  run_until(scheduler, Time(1s));
  EXPECT_EQ(there.arrived(), Time(1ms));
  EXPECT_EQ(back.arrived(), Time(1ms));
}

// Twice the workers, twice the events: changes of one instant are settled once.
TEST(HostNetwork, PushesToOneServerEndTogether) {
  for (const int workers : {1, 2, 7, 100, 4000}) {
    for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>(), {1}}) {
      VirtualScheduler scheduler = seed ? VirtualScheduler(*seed) : VirtualScheduler();
      HostNetwork network(equal_hosts(workers + 1), one_rank_each(workers + 1));
      std::deque<Parcel> parcels;
      for (Rank rank = 1; rank <= workers; ++rank) parcels.emplace_back(scheduler, network, rank, 0, 10'000);
      run_until(scheduler, Time(1s));
      for (const Parcel& parcel : parcels) ASSERT_EQ(parcel.arrived(), Time(workers * 10us + 5us));
      EXPECT_LE(scheduler.events(), 2 * static_cast<std::uint64_t>(workers) + 5);
    }
  }
}

template <class Make>
std::string refusal(Make make) {
  try {
    make();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(HostNetwork, ChecksWhatItIsGiven) {
  EXPECT_EQ(refusal([] { HostNetwork(equal_hosts(2), {0, 2}); }), "rank 1 is on host 2; there are 2 hosts");
  std::vector<cluster::HostSpec> hosts = equal_hosts(2);
  hosts[1].outside.bytes_per_second = 0;
  EXPECT_EQ(refusal([&] {
              HostNetwork(hosts, {0, 1});
            }),
            "host host: 0 bytes per second outside are not a finite number above 0");
  hosts[1] = hosts[0];
  hosts[0].inside.latency = -1ns;
  EXPECT_EQ(refusal([&] { HostNetwork(hosts, {0, 1}); }), "host host: the latency inside is below 0");
  VirtualScheduler scheduler;
  HostNetwork network(equal_hosts(2), {0, 1});
  EXPECT_EQ(refusal([&] { Parcel(scheduler, network, 0, 2, 1); }),
            "rank 2 is on no host; there are ranks 0 to 1");
  EXPECT_EQ(refusal([&] { network.set_outside(scheduler, 2, 1); }),
            "host 2 does not exist; there are 2 hosts");
  EXPECT_EQ(refusal([&] { network.set_outside(scheduler, 0, 0); }),
            "host 0: bandwidth divided by 0, which is not a finite number above 0");
}

}  // namespace
}  // namespace starling::sim
