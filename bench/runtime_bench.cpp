// The cost of the runtime: events per second of a simulated ring among 1,024 ranks, and the price of a task.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/core/partition.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/mailbox.h"
#include "starling/runtime/run.h"
#include "starling/runtime/scope.h"
#include "starling/runtime/virtual_scheduler.h"
#include "starling/transport/inproc.h"

namespace {

using namespace starling;
using runtime::Scope;
using runtime::Task;
using runtime::VirtualScheduler;
using transport::InprocWorld;
using transport::Transport;

// A ring all-reduce by hand; the arithmetic is left in, since a simulation of training would do it too.
Task<> ring(Transport& net, std::span<float> data) {
  const auto n = static_cast<std::size_t>(net.size()), me = static_cast<std::size_t>(net.rank());
  const auto right = static_cast<Rank>((me + 1) % n), left = static_cast<Rank>((me + n - 1) % n);
  std::vector<float> buffer(data.size() / n + 1);
  for (std::size_t step = 0; step < 2 * (n - 1); ++step) {
    const Slice out = slice_of(data.size(), n, (me + 2 * n - step) % n);
    const Slice in = slice_of(data.size(), n, (me + 2 * n - step - 1) % n);
    auto sending = net.send(right, 1, std::as_bytes(data.subspan(out.begin, out.size())));
    co_await net.recv(left, 1, std::as_writable_bytes(std::span(buffer).first(in.size())));
    for (std::size_t i = 0; i < in.size(); ++i) {
      float& mine = data[in.begin + i];
      mine = step < n - 1 ? mine + buffer[i] : buffer[i];
    }
    co_await sending;
  }
}

Task<> ring_of_all(InprocWorld& world, std::vector<std::vector<float>>& data) {
  Scope scope(co_await runtime::this_context());
  for (Rank rank = 0; rank < world.size(); ++rank) {
    scope.spawn(ring(world.at(rank), data[static_cast<std::size_t>(rank)]), "rank");
  }
  co_await scope.join();
}

void count_events(benchmark::State& state, std::uint64_t events) {
  state.counters["events_per_second"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

void virtual_ring(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  const auto size = static_cast<std::size_t>(ranks);
  std::uint64_t events = 0;
  for (auto _ : state) {
    VirtualScheduler scheduler;
    transport::AlphaBeta network({std::chrono::microseconds(5), 1e-9});
    InprocWorld world(scheduler, ranks, network);
    std::vector<std::vector<float>> data(size, std::vector<float>(size, 1.0F));
    runtime::run(scheduler, ring_of_all(world, data));
    if (data[0][0] != static_cast<float>(ranks)) state.SkipWithError("the sum is wrong");
    events += scheduler.events();
  }
  count_events(state, events);
}
BENCHMARK(virtual_ring)->Arg(16)->Arg(1024)->Unit(benchmark::kMillisecond);

constexpr int kRepeats = 10'000;

Task<int> one() { co_return 1; }

Task<int> sum_of_ones() {
  int sum = 0;
  for (int i = 0; i < kRepeats; ++i) sum += co_await one();
  co_return sum;
}

// A task that ends without waiting.
void await_task(benchmark::State& state) {
  for (auto _ : state) {
    VirtualScheduler scheduler;
    benchmark::DoNotOptimize(runtime::run(scheduler, sum_of_ones()));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * kRepeats);
}
BENCHMARK(await_task);

Task<> sleep_often() {
  for (int i = 0; i < kRepeats; ++i) co_await runtime::sleep_for(Duration(1));
}

// A task that waits once.
void await_sleep(benchmark::State& state) {
  std::uint64_t events = 0;
  for (auto _ : state) {
    VirtualScheduler scheduler;
    runtime::run(scheduler, sleep_often());
    events += scheduler.events();
  }
  count_events(state, events);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * kRepeats);
}
BENCHMARK(await_sleep);

Task<> nothing() { co_return; }

Task<> spawn_often(int at_once) {
  Scope scope(co_await runtime::this_context());
  for (int i = 0; i < kRepeats; i += at_once) {
    for (int child = 0; child < at_once; ++child) scope.spawn(nothing());
    co_await scope.join();
  }
}

// Children per join: 1, 100.
void spawn_and_join(benchmark::State& state) {
  for (auto _ : state) {
    VirtualScheduler scheduler;
    runtime::run(scheduler, spawn_often(static_cast<int>(state.range(0))));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * kRepeats);
}
BENCHMARK(spawn_and_join)->Arg(1)->Arg(100);

Task<> pass_on(runtime::Mailbox<int>& from, runtime::Mailbox<int>& to) {
  for (int i = 0; i < kRepeats; ++i) to.put(co_await from.take());
}

Task<> ping_pong() {
  runtime::Mailbox<int> left, right;
  Scope scope(co_await runtime::this_context());
  scope.spawn(pass_on(left, right));
  scope.spawn(pass_on(right, left));
  left.put(1);
  co_await scope.join();
}

// Two tasks that hand an item to and fro.
void mailbox(benchmark::State& state) {
  for (auto _ : state) {
    VirtualScheduler scheduler;
    runtime::run(scheduler, ping_pong());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * 2 * kRepeats);
}
BENCHMARK(mailbox);

}  // namespace
