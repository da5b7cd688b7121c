#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "cli/bench/bench_subjects.h"
#include "cli/common/captured_process.h"
#include "cli/peers/obey.h"

namespace starling::cli {
namespace {

// Two vectors of one thread.
struct Pair {
  std::unique_ptr<std::byte[]> from, to;
};

class CopyWorker final : public BenchWorker {
 public:
  explicit CopyWorker(int threads) : pairs_(static_cast<std::size_t>(threads)) {}

  void prepare(const Job& job) override {
    for (Pair& pair : pairs_) pair = {};
    // Made and filled by the thread that will use them, so that the memory is near its core.
    on_threads([&](Pair& pair) {
      pair.from = std::make_unique<std::byte[]>(job.bytes);
      pair.to = std::make_unique<std::byte[]>(job.bytes);
    });
  }

  double time(const Job& job, int iterations) override {
    std::barrier start(static_cast<std::ptrdiff_t>(pairs_.size()));
    std::vector<double> times(pairs_.size());
    on_threads([&](Pair& pair) {
      start.arrive_and_wait();
      const BenchClock watch;
      for (int i = 0; i < iterations; ++i) copy(pair, job.bytes);
      times[static_cast<std::size_t>(&pair - pairs_.data())] = watch.microseconds() / iterations;
    });
    return *std::max_element(times.begin(), times.end());
  }

 private:
  static void copy(Pair& pair, std::size_t bytes) {
    std::memcpy(pair.to.get(), pair.from.get(), bytes);
    // The compiler must assume that the copy is used, or it leaves all but the last one out.
    asm volatile("" : : "r"(pair.to.get()) : "memory");
  }

  void on_threads(const std::function<void(Pair&)>& work) {
    std::vector<std::thread> threads;
    for (Pair& pair : pairs_) threads.emplace_back([&work, &pair] { work(pair); });
    for (std::thread& thread : threads) thread.join();
  }

  std::vector<Pair> pairs_;
};

}  // namespace

// Runs in a process of its own: this one stays free of threads, so that it can fork the next ranks.
std::unique_ptr<BenchSubject> start_copying(int ranks) {
  return std::make_unique<BenchSubject>("copy", 1, [ranks](const std::string& address) {
    const auto body = [&] {
      CopyWorker worker(ranks);
      obey(address, 0, worker);
    };
    return std::make_unique<CapturedProcess>(body, CapturedProcess::Options{});
  });
}

}  // namespace starling::cli
