#include "cli/bench/bench_joined.h"

#include <fmt/format.h>

#include <cstdio>
#include <numeric>
#include <set>

#include "cli/bench/bench_report.h"
#include "cli/bench/bench_table.h"
#include "starling/collective/collective.h"
#include "starling/core/error.h"
#include "starling/core/version.h"
#include "starling/join/run_context.h"
#include "starling/runtime/run.h"
#include "starling/session/exit_barrier.h"

namespace starling::cli {
namespace {

constexpr Tag kJoinedTag = 2;

struct Participant {
  std::string name;
  std::unique_ptr<BenchWorker> worker;
  RoundLength length = {};
  std::vector<double> rounds = {};
};

// The bytes that must leave every host, and as many must come in, whatever the algorithm, if all have the
// same number of ranks: the time of a link that is always busy.
double bytes_on_a_link(const Job& job, int hosts) {
  const auto bytes = static_cast<double>(job.bytes);
  const double others = static_cast<double>(hosts - 1) / hosts;
  if (job.op == Op::kAllReduce) return 2 * others * bytes;
  return job.op == Op::kAllGather ? others * bytes : bytes;
}

class JoinedBench {
 public:
  explicit JoinedBench(const BenchOptions& options);

  void run() {
    introduce();
    for (const Op op : options_.ops) {
      for (const std::size_t bytes : options_.sizes) measure({op, bytes});
    }
    runtime::run(net().scheduler(), session::exit_barrier(net()));
    nlohmann::ordered_json missing = nlohmann::ordered_json::object();
    if (!why_no_mpi_.empty()) missing["mpi"] = why_no_mpi_;
    if (leads()) write_report(options_.json, missing, results_);
  }

 private:
  transport::Transport& net() { return context_.net(); }
  bool leads() { return net().rank() == 0; }
  void tell(const std::string& line) {
    if (!leads()) return;
    std::FILE* const people = options_.json == "-" ? stderr : stdout;
    fmt::print(people, "{}\n", line);
    std::fflush(people);
  }

  void introduce();
  void measure(const Job& job);
  double time(BenchWorker& worker, const Job& job, int iterations);
  void report(const Job& job);

  const BenchOptions& options_;
  std::string why_no_mpi_ = {};
  Participant mpi_;  // before the run context: it starts MPI and ends it
  join::RunContext context_;
  Participant starling_;
  Group everyone_;
  int hosts_;
  nlohmann::ordered_json results_ = nlohmann::ordered_json::array();
};

JoinedBench::JoinedBench(const BenchOptions& options)
    : options_(options),
      mpi_{"mpi", options.against.empty() ? nullptr : make_mpi_worker(why_no_mpi_)},
      starling_{"starling", make_starling_worker(net())},
      everyone_(static_cast<std::size_t>(net().size())) {
  std::iota(everyone_.begin(), everyone_.end(), 0);
  const std::vector<int>& host_of_rank = context_.environment().host_of_rank;
  hosts_ = std::max(1, static_cast<int>(std::set<int>(host_of_rank.begin(), host_of_rank.end()).size()));
}

void JoinedBench::introduce() {
  tell(fmt::format("Starling {}, {} ranks on {} host{} by {}; medians of {} interleaved rounds.", version(),
                   net().size(), hosts_, hosts_ == 1 ? "" : "s", net().name(), options_.rounds));
  if (!why_no_mpi_.empty()) tell(concat("mpi is missing: ", why_no_mpi_));
  tell("link: what must leave each host, and come in, over our time. vs: the peer's time over ours.");
  tell(fmt::format("{:<10}{:>7}{:>10}{:>14}{:>10}{:>8}", "op", "size", "starling", "link", "mpi", "vs mpi"));
}

// The time of the slowest rank.
double JoinedBench::time(BenchWorker& worker, const Job& job, int iterations) {
  double slowest = worker.time(job, iterations);
  runtime::run(net().scheduler(), collective::all_reduce(net(), everyone_, std::span(&slowest, 1),
                                                         collective::Reduction::max(), kJoinedTag));
  return slowest;
}

void JoinedBench::measure(const Job& job) {
  std::vector<Participant*> all{&starling_};
  if (mpi_.worker) all.push_back(&mpi_);
  for (Participant* who : all) {
    who->length = {};
    who->rounds.clear();
    who->worker->prepare(job);
  }
  for (int round = -1; round < options_.rounds; ++round) {  // one more to find the length of a round
    for (Participant* who : all) {
      const double microseconds =
          who->length.measure([&](int iterations) { return time(*who->worker, job, iterations); });
      if (round >= 0) who->rounds.push_back(microseconds);
    }
  }
  report(job);
}

void JoinedBench::report(const Job& job) {
  const double ours = median(starling_.rounds);
  std::optional<double> theirs, ratio, rate;
  if (mpi_.worker) theirs = median(mpi_.rounds);
  if (theirs) ratio = *theirs / ours;
  if (hosts_ > 1) rate = bytes_on_a_link(job, hosts_) / ours;  // bytes a microsecond are MB/s
  tell(fmt::format("{:<10}{:>7}{:>10}{:>14}{:>10}{:>8}", name_of(job.op), format_size(job.bytes),
                   format_time(ours), rate ? fmt::format("{:.1f} MB/s", *rate) : "-", format_time(theirs),
                   format_ratio(ratio)));
  nlohmann::ordered_json row;
  row["op"] = name_of(job.op);
  row["ranks"] = net().size();
  row["hosts"] = hosts_;
  row["transport"] = net().name();
  row["bytes"] = job.bytes;
  row["starling_us"] = ours;
  row["mpi_us"] = theirs ? nlohmann::ordered_json(*theirs) : nlohmann::ordered_json();
  row["link_bytes_per_second"] = rate ? nlohmann::ordered_json(*rate * 1e6) : nlohmann::ordered_json();
  results_.push_back(std::move(row));
}

}  // namespace

int ranks_started() { return join::read_run_environment().ranks; }

void run_joined_bench(const BenchOptions& options) {
  const join::RunEnvironment environment = join::read_run_environment();
  if (options.ranks != std::vector<int>{environment.ranks}) {
    throw InvalidArgument(concat("--ranks: '", join_texts(options.ranks), "'; there are ", environment.ranks,
                                 ", started by ", environment.started_by));
  }
  for (const Peer* peer : options.against) {
    if (peer->name == "mpi") continue;
    throw InvalidArgument(
        concat("--against: '", peer->name, "'; allowed in ranks started by another launcher: mpi, none"));
  }
  if (environment.rank == 0) check_report(options.json);
  JoinedBench bench(options);
  bench.run();
}

}  // namespace starling::cli
