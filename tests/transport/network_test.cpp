#include "starling/transport/network.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "starling/core/partition.h"
#include "starling/runtime/run.h"
#include "starling/runtime/scope.h"
#include "starling/transport/inproc.h"

namespace starling::transport {
namespace {

using namespace std::chrono_literals;
using runtime::Scope;
using runtime::Task;
using runtime::VirtualScheduler;

struct Parcel : Transfer {
  Parcel(Rank sender, Rank receiver, std::size_t size, VirtualScheduler& on)
      : Transfer(&Parcel::on_arrival), scheduler(on) {
    from = sender;
    to = receiver;
    bytes = size;
  }
  static void on_arrival(Wakeup& self) {
    auto& parcel = static_cast<Parcel&>(self);
    parcel.arrived = parcel.scheduler.now();
    parcel.here = true;
  }
  VirtualScheduler& scheduler;
  Time arrived{};
  bool here = false;
};

void drive_until(VirtualScheduler& scheduler, const Parcel& last) {
  scheduler.drive([](void* here) { return *static_cast<bool*>(here); }, const_cast<bool*>(&last.here));
}

constexpr AlphaBeta::Link kNetworkLink{5us, 1e-9};  // 1 GB/s: a nanosecond per byte

TEST(AlphaBeta, AMessageTakesAlphaPlusBytesTimesBeta) {
  for (const std::size_t bytes : {0, 1, 1000, 1 << 20}) {
    VirtualScheduler scheduler;
    AlphaBeta network(kNetworkLink);
    Parcel parcel(0, 1, bytes, scheduler);
    network.start(scheduler, parcel);
    drive_until(scheduler, parcel);
    EXPECT_EQ(parcel.arrived, Time(5us + Duration(bytes)));
  }
}

TEST(AlphaBeta, MessagesOnOneLinkGoOneAfterTheOther) {
  VirtualScheduler scheduler;
  AlphaBeta network(kNetworkLink);
  Parcel first(0, 1, 3000, scheduler), second(0, 1, 500, scheduler);
  network.start(scheduler, first);
  network.start(scheduler, second);
  drive_until(scheduler, second);
  EXPECT_EQ(first.arrived, Time(8us));
  EXPECT_EQ(second.arrived, Time(8us + 500ns)) << "start-up times overlap, bytes do not";
}

TEST(AlphaBeta, AnIdleLinkIsFreeAtOnce) {
  VirtualScheduler scheduler;
  AlphaBeta network(kNetworkLink);
  Parcel first(0, 1, 1000, scheduler);
  network.start(scheduler, first);
  drive_until(scheduler, first);
  Parcel second(0, 1, 1000, scheduler);
  network.start(scheduler, second);
  drive_until(scheduler, second);
  EXPECT_EQ(second.arrived - first.arrived, Duration(6us));
}

TEST(AlphaBeta, LinksDoNotDisturbEachOther) {
  VirtualScheduler scheduler;
  AlphaBeta network(kNetworkLink);
  Parcel there(0, 1, 1000, scheduler), back(1, 0, 1000, scheduler), elsewhere(0, 2, 1000, scheduler);
  for (Parcel* parcel : {&there, &back, &elsewhere}) network.start(scheduler, *parcel);
  drive_until(scheduler, elsewhere);
  for (const Parcel* parcel : {&there, &back, &elsewhere}) EXPECT_EQ(parcel->arrived, Time(6us));
}

TEST(AlphaBeta, LinksMayDiffer) {
  VirtualScheduler scheduler;
  AlphaBeta network(kNetworkLink);
  network.set_link(0, 1, {1ms, 1e-6});
  Parcel slow(0, 1, 1000, scheduler), usual(1, 0, 1000, scheduler);
  network.start(scheduler, slow);
  network.start(scheduler, usual);
  drive_until(scheduler, slow);
  EXPECT_EQ(usual.arrived, Time(6us));
  EXPECT_EQ(slow.arrived, Time(2ms));
}

TEST(AlphaBeta, ACancelledTransferDoesNotArrive) {
  VirtualScheduler scheduler;
  AlphaBeta network(kNetworkLink);
  Parcel cancelled(0, 1, 1000, scheduler), other(0, 1, 1000, scheduler);
  network.start(scheduler, cancelled);
  network.start(scheduler, other);
  network.cancel(cancelled);
  drive_until(scheduler, other);
  EXPECT_FALSE(cancelled.here);
}

// Reduce-scatter, then all-gather, by hand.
Task<> ring(Transport& net, std::span<float> data) {
  const auto n = static_cast<std::size_t>(net.size()), me = static_cast<std::size_t>(net.rank());
  const auto right = static_cast<Rank>((me + 1) % n), left = static_cast<Rank>((me + n - 1) % n);
  std::vector<float> buffer(data.size() / n + 1);
  for (std::size_t step = 0; step < 2 * (n - 1); ++step) {
    const Slice out = slice_of(data.size(), n, (me + 2 * n - step) % n);
    const Slice in = slice_of(data.size(), n, (me + 2 * n - step - 1) % n);
    auto sending = net.send(right, 1, std::as_bytes(data.subspan(out.begin, out.size())));
    const auto arrived = std::span(buffer).first(in.size());
    co_await net.recv(left, 1, std::as_writable_bytes(arrived));
    for (std::size_t i = 0; i < arrived.size(); ++i) {
      float& mine = data[in.begin + i];
      mine = step < n - 1 ? mine + arrived[i] : arrived[i];
    }
    co_await sending;
  }
}

TEST(AlphaBeta, ARingTakesTheTimeOfItsFormula) {
  for (const int n : {2, 3, 8, 32}) {
    VirtualScheduler scheduler;
    AlphaBeta network(kNetworkLink);
    InprocWorld world(scheduler, n, network);
    const std::size_t count = 96 * 1024;
    std::vector<std::vector<float>> data(static_cast<std::size_t>(n), std::vector<float>(count, 1.0f));
    const auto all = [&]() -> Task<> {
      Scope scope(co_await runtime::this_context());
      for (Rank rank = 0; rank < n; ++rank)
        scope.spawn(ring(world.at(rank), data[static_cast<std::size_t>(rank)]));
      co_await scope.join();
    };
    runtime::run(scheduler, all());
    for (const auto& of_rank : data) {
      ASSERT_EQ(of_rank, std::vector<float>(count, static_cast<float>(n)));
    }
    const double chunk = static_cast<double>(count * sizeof(float)) / n;
    const double expected = 2.0 * (n - 1) * (5e-6 + chunk * 1e-9);
    const double found = std::chrono::duration<double>(scheduler.now().time_since_epoch()).count();
    EXPECT_NEAR(found, expected, expected * 1e-3) << n << " ranks";
  }
}

}  // namespace
}  // namespace starling::transport
