// The cost of an exchange with the centre of ea-wild: two workers with a model of 5 million parameters, all
// the time, as a multiple of copying the model once from memory to memory. Beside it the same exchange
// through a server process. Each round measures all three, one after the other, with cold caches.
//
//   build/bench/exchange_bench [rounds]
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "starling/launch/forked_ranks.h"
#include "starling/runtime/run.h"
#include "starling/strategy/centre/served_centre.h"
#include "starling/strategy/centre/shared_centre.h"
#include "tests/strategy/fake_worker.h"

namespace {

using namespace starling;
using namespace starling::strategy;
using testing::FakeWorker;

constexpr std::size_t kElements = 5'000'000;
constexpr int kWorkers = 2, kMostRounds = 1000;
constexpr Rank kServer = kWorkers;
constexpr std::array kSubjects{"copying the model", "exchange, shared memory", "exchange, server process"};

// Milliseconds, by subject, round and worker; in memory that the ranks share with this process.
struct Times {
  double of[kSubjects.size()][kMostRounds][kWorkers];
};

class Measurement {
 public:
  Measurement(FakeWorker& worker, Times& times)
      : worker_(worker), times_(times), junk_(std::size_t{96} << 20) {}

  Task<> run(int rounds) {
    const std::optional<Time> between_steps = worker_.now();
    SharedCentre shared(worker_, {.locked = false}, between_steps);
    co_await shared.open();
    ServedCentre served(worker_, CentrePlace::kServer, CentreOrder::kAnyTime, between_steps);
    const Buffer copy_of_model = worker_.allocate(kElements);
    copy(worker_.parameters(), copy_of_model.data);
    for (int round = -1; round < rounds; ++round) {  // the first touches all pages
      co_await meet();
      begin();
      copy(worker_.parameters(), copy_of_model.data);
      end(0, round);
      co_await meet();
      begin();
      co_await shared.pull_both(worker_.parameters(), 0.1F, copy_of_model.data);
      end(1, round);
      co_await meet();
      begin();
      co_await served.pull_both(worker_.parameters(), 0.1F, copy_of_model.data);
      end(2, round);
    }
    co_await meet();
    co_await served.leave();
  }

 private:
  // Nothing of the last subject is in a cache.
  void begin() {
    for (std::size_t i = 0; i < junk_.size(); i += 64) ++junk_[i];
    begin_ = std::chrono::steady_clock::now();
  }
  void end(std::size_t subject, int round) {
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin_;
    if (round >= 0) times_.of[subject][round][worker_.rank()] = took.count();
  }
  Task<> meet() {
    const Rank other = 1 - worker_.rank();
    auto sent = worker_.net().send(other, 1, {});
    co_await worker_.net().recv(other, 1, {});
    co_await sent;
  }

  FakeWorker& worker_;
  Times& times_;
  std::vector<char> junk_;
  std::chrono::steady_clock::time_point begin_;
};

Task<> serve(FakeWorker& worker) {
  const SliceMap map(worker, kElements, CentrePlace::kServer);
  const auto service = std::make_shared<CentreService>(worker, map, CentreOrder::kAnyTime);
  runtime::Scope scope(co_await runtime::this_context());
  scope.spawn(CentreService::serve(service));
  for (Rank rank = 0; rank < kWorkers; ++rank) co_await worker.net().recv(rank, 2, {}, transport::Idle::kYes);
}

Task<> send_done(Transport& net) { co_await net.send(kServer, 2, {}); }

void run_rank(transport::Transport& net, const RunInfo& place, Times& times, int rounds) {
  FakeWorker worker(place, net);
  if (net.rank() == kServer) return runtime::run(net.scheduler(), serve(worker));
  Measurement measurement(worker, times);
  runtime::run(net.scheduler(), measurement.run(rounds));
  runtime::run(net.scheduler(), send_done(net));
}

void print(const Times& times, int rounds) {
  double copying = 0;
  for (std::size_t subject = 0; subject < kSubjects.size(); ++subject) {
    std::vector<double> all;
    for (int round = 0; round < rounds; ++round) {
      for (const double time : times.of[subject][round]) all.push_back(time);
    }
    std::ranges::sort(all);
    const double median = all[all.size() / 2];
    if (subject == 0) copying = median;
    std::printf("%-26s median %7.2f ms, best %7.2f ms: %5.2f times copying\n", kSubjects[subject], median,
                all.front(), median / copying);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::clamp(std::atoi(argv[1]), 1, kMostRounds) : 40;
  void* const memory =
      ::mmap(nullptr, sizeof(Times), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& times = *static_cast<Times*>(memory);
  RunInfo place = testing::place_of(kWorkers, {{"x", 0, kElements}});
  place.server = kServer;
  place.host_of_rank.push_back(0);
  launch::ForkedRanks ranks(kWorkers + 1,
                            [&](transport::Transport& net) { run_rank(net, place, times, rounds); });
  for (const launch::Outcome& outcome : ranks.wait()) {
    if (outcome.good()) continue;
    std::fprintf(stderr, "exchange_bench: %s\n",
                 outcome.error.empty() ? "a rank was killed" : outcome.error.c_str());
    return 1;
  }
  print(times, rounds);
  return 0;
}
