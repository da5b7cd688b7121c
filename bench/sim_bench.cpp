// The cost of a simulated cluster: events per second of a halving all-reduce among many hosts, with the
// events of an instant in order and shuffled, and of pushes to one server.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/runtime/run.h"
#include "starling/runtime/scope.h"
#include "starling/runtime/virtual_scheduler.h"
#include "starling/sim/host_network.h"
#include "starling/transport/inproc.h"

namespace {

using namespace starling;
using collective::SharedGroup;
using runtime::Scope;
using runtime::Task;
using runtime::VirtualScheduler;
using transport::InprocWorld;
using transport::Transport;

constexpr int kRepeats = 4;
constexpr std::size_t kElements = 1000;

std::vector<cluster::HostSpec> hosts(int count) {
  const cluster::Link outside{1.25e9, std::chrono::microseconds(50)};
  return std::vector<cluster::HostSpec>(static_cast<std::size_t>(count),
                                        cluster::HostSpec{"host", outside, {}});
}

Group everyone(int ranks) {
  Group group;
  for (Rank rank = 0; rank < ranks; ++rank) group.push_back(rank);
  return group;
}

Task<> reduce_often(Transport& net, SharedGroup group, collective::Data data) {
  for (int i = 0; i < kRepeats; ++i) {
    co_await all_reduce(net, group, data, collective::Reduction::sum(), 1, collective::Algorithm::kHalving);
  }
}

Task<> reduce_everywhere(InprocWorld& world, std::vector<std::vector<float>>& values) {
  const SharedGroup group = everyone(world.size());
  Scope scope(co_await runtime::this_context());
  for (Rank rank = 0; rank < world.size(); ++rank) {
    const collective::Data data{std::span<float>(values[static_cast<std::size_t>(rank)])};
    scope.spawn(reduce_often(world.at(rank), group, data));
  }
  co_await scope.join();
}

void report(benchmark::State& state, std::uint64_t events, std::uint64_t messages) {
  const auto rate = benchmark::Counter::kIsRate;
  state.counters["events_per_second"] = benchmark::Counter(static_cast<double>(events), rate);
  state.counters["messages_per_second"] = benchmark::Counter(static_cast<double>(messages), rate);
}

void halving_on_hosts(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  const bool shuffled = state.range(1) != 0;
  std::uint64_t events = 0, messages = 0;
  for (auto _ : state) {
    VirtualScheduler scheduler = shuffled ? VirtualScheduler(1) : VirtualScheduler();
    sim::HostNetwork network(hosts(ranks), everyone(ranks));
    InprocWorld world(scheduler, ranks, network);
    std::vector<std::vector<float>> values(static_cast<std::size_t>(ranks), std::vector<float>(kElements));
    runtime::run(scheduler, reduce_everywhere(world, values));
    events += scheduler.events();
    for (Rank rank = 0; rank < ranks; ++rank) messages += world.at(rank).traffic().messages;
  }
  report(state, events, messages);
}
BENCHMARK(halving_on_hosts)
    ->ArgNames({"ranks", "shuffled"})
    ->Args({1024, 0})
    ->Args({1024, 1})
    ->Args({10'000, 0})
    ->Args({10'000, 1})
    ->Unit(benchmark::kMillisecond);

Task<> push_often(Transport& net, std::span<const std::byte> data) {
  for (int i = 0; i < kRepeats; ++i) co_await net.send(0, 1, data);
}

Task<> receive_all(Transport& net, std::span<std::byte> buffer) {
  for (int i = 0; i < kRepeats; ++i) {
    for (Rank rank = 1; rank < net.size(); ++rank) co_await net.recv(rank, 1, buffer);
  }
}

// All ranks push to rank 0 at the same moment, so all flows share its incoming side.
void pushes_to_one_server(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  std::uint64_t events = 0, messages = 0;
  for (auto _ : state) {
    VirtualScheduler scheduler(1);
    sim::HostNetwork network(hosts(ranks), everyone(ranks));
    InprocWorld world(scheduler, ranks, network);
    const std::span<std::byte> ghost(static_cast<std::byte*>(nullptr), 4 * kElements);
    const auto all = [&]() -> Task<> {
      Scope scope(co_await runtime::this_context());
      for (Rank rank = 1; rank < ranks; ++rank) scope.spawn(push_often(world.at(rank), ghost));
      scope.spawn(receive_all(world.at(0), ghost));
      co_await scope.join();
    };
    runtime::run(scheduler, all());
    events += scheduler.events();
    messages += static_cast<std::uint64_t>(kRepeats) * static_cast<std::uint64_t>(ranks - 1);
  }
  report(state, events, messages);
}
BENCHMARK(pushes_to_one_server)->ArgName("ranks")->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
