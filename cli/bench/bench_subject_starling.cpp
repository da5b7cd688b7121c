#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <numeric>

#include "cli/bench/bench_subjects.h"
#include "starling/collective/collective.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/run.h"

namespace starling::cli {
namespace {

using collective::Data;
using collective::Reduction;
using runtime::Task;
using transport::Transport;

constexpr Tag kSubjectTag = 1;

Task<> perform(Transport& net, const Group& group, Op op, Data data) {
  switch (op) {
    case Op::kBroadcast:
      return collective::broadcast(net, group, 0, data, kSubjectTag);
    case Op::kAllGather:
      return collective::all_gather(net, group, data, kSubjectTag);
    case Op::kAllReduce:
      break;
  }
  return collective::all_reduce(net, group, data, Reduction::sum(), kSubjectTag);
}

Task<double> timed(Transport& net, const Group& group, Op op, Data data, int iterations) {
  co_await collective::barrier(net, group, kSubjectTag);
  const BenchClock watch;
  for (int i = 0; i < iterations; ++i) co_await perform(net, group, op, data);
  co_return watch.microseconds() / iterations;
}

class StarlingWorker final : public BenchWorker {
 public:
  explicit StarlingWorker(Transport& net) : net_(net), group_(static_cast<std::size_t>(net.size())) {
    std::iota(group_.begin(), group_.end(), 0);
  }

  void prepare(const Job& job) override {
    memory_ = {};  // the old vector is freed before the new one is made
    memory_ = net_.allocate(job.bytes);
    const std::span<float> data(reinterpret_cast<float*>(memory_.bytes.data()), job.count());
    data_ = Data(data);
    fill_input(job, net_.rank(), net_.size(), data);
    runtime::run(net_.scheduler(), perform(net_, group_, job.op, data_));
    check_result(job, net_.rank(), net_.size(), data);
    // All have read what they need before any rank's data changes.
    runtime::run(net_.scheduler(), collective::barrier(net_, group_, kSubjectTag));
    std::fill(data.begin(), data.end(), 0.0F);
  }

  double time(const Job& job, int iterations) override {
    return runtime::run(net_.scheduler(), timed(net_, group_, job.op, data_, iterations));
  }

 private:
  Transport& net_;
  Group group_;
  transport::Memory memory_;
  Data data_;
};

class Ranks final : public ProcessGroup {
 public:
  Ranks(int ranks, const std::string& address)
      : count_(ranks), ranks_(ranks, [&address](Transport& net) {
          StarlingWorker worker(net);
          obey(address, net.rank(), worker);
        }) {}

  bool any_ended() override {
    for (Rank rank = 0; rank < count_; ++rank) {
      siginfo_t ended{};
      const auto pid = static_cast<id_t>(ranks_.pid(rank));
      if (waitid(P_PID, pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0) return true;
    }
    return false;
  }

  std::string last_words() override {
    for (Rank rank = 0; rank < count_; ++rank) ranks_.kill(rank, SIGKILL);
    for (const launch::Outcome& outcome : ranks_.wait()) {
      if (!outcome.error.empty()) return outcome.error;
      if (outcome.signal != 0 && outcome.signal != SIGKILL)
        return concat("killed by signal ", outcome.signal);
    }
    return "";
  }

 private:
  int count_;
  launch::ForkedRanks ranks_;
};

}  // namespace

std::unique_ptr<BenchWorker> make_starling_worker(Transport& net) {
  return std::make_unique<StarlingWorker>(net);
}

std::unique_ptr<BenchSubject> start_starling(int ranks) {
  return std::make_unique<BenchSubject>("starling", ranks, [ranks](const std::string& address) {
    return std::make_unique<Ranks>(ranks, address);
  });
}

}  // namespace starling::cli
