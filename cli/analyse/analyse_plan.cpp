#include "cli/analyse/analyse_plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "cli/common/shared_flags.h"
#include "starling/core/error.h"

namespace starling::cli {

namespace {

constexpr int kMostWorkers = 1024;

// Less than a nanosecond for a message.
constexpr const char* kInstantNetwork = "1e15/0ns";

void check_cluster(const cluster::Cluster& cluster, const AnalyseFlags& flags) {
  if (!cluster.faults.empty()) {
    throw InvalidArgument(concat("--slow: '", join_texts(flags.cluster.slow),
                                 "': slow for a part of the run; allowed: for all of it, as in 0:4"));
  }
  const cluster::JitterSpan span = cluster.workers.front().jitter_span;
  if (span.steps > 1) {
    throw InvalidArgument(concat("--jitter-span: '", text_of(span),
                                 "'; allowed: piece, step: the formulas want steps that are "
                                 "independent"));
  }
}

int number_below_workers(const Given<std::uint64_t>& given, std::string_view flag, int fallback,
                         int workers) {
  if (!given) return fallback;
  return static_cast<int>(parse_integer(given.text(), flag, 1, workers - 1));
}

void read_rules(const AnalyseFlags& flags, AnalysePlan& plan) {
  constexpr int kBackupOf = 8;
  const int n = plan.workers();
  plan.backup = number_below_workers(flags.backup, "--backup", std::max(1, n / kBackupOf), n);
  plan.quorum = number_below_workers(flags.quorum, "--quorum", n / 2, n);
  plan.staleness = static_cast<int>(flags.staleness.value_or(3));
  plan.period = static_cast<int>(flags.period.value_or(10));
  plan.pieces = static_cast<int>(flags.pieces.value_or(8));
  plan.batch =
      static_cast<int>(flags.batch.value_or(std::uint64_t{32} * static_cast<std::uint64_t>(plan.pieces)));
  if (plan.batch % plan.pieces != 0) {
    throw InvalidArgument(concat("--batch: ", plan.batch, " samples make no ", plan.pieces,
                                 " equal pieces; allowed: multiples of --pieces"));
  }
}

}  // namespace

AnalysePlan plan_analysis(const AnalyseFlags& flags) {
  AnalysePlan plan;
  cluster::ClusterFlags texts = flags.cluster;
  texts.workers = std::to_string(in_range(flags.workers, "--workers", 16, 2, kMostWorkers));
  texts.network = kInstantNetwork;
  plan.cluster = cluster::make_cluster(texts);
  check_cluster(plan.cluster, flags);
  plan.jitter = plan.cluster.workers.front().jitter;
  plan.factor_by_piece = plan.cluster.workers.front().jitter_span.steps == 0;
  plan.step_seconds = seconds_of(flags.step_time.value_or(std::chrono::seconds(1)));
  plan.comm_seconds = flags.comm ? seconds_of(*flags.comm) : 0;
  constexpr double kDeadline = 1.1;
  plan.deadline_seconds = flags.deadline ? seconds_of(*flags.deadline) : kDeadline * plan.step_seconds;
  read_rules(flags, plan);
  plan.steps = flags.steps.value_or(100);
  std::vector<std::uint64_t> seeds(20);
  std::iota(seeds.begin(), seeds.end(), 1);
  plan.seeds = flags.seeds.value_or(seeds);
  if (plan.seeds.size() < 3) {
    throw InvalidArgument(concat("--seeds: '", flags.seeds.text(), "'; allowed: 3 or more, for an interval"));
  }
  plan.simulates = !flags.without_simulation;
  plan.json = flags.json;
  plan.svg = flags.svg;
  return plan;
}

analysis::Crew AnalysePlan::crew() const {
  analysis::Crew crew{{}, jitter, comm_seconds};
  for (const cluster::WorkerSpec& worker : cluster.workers)
    crew.seconds.push_back(step_seconds / worker.speed);
  return crew;
}

AnalysePlan with_workers(AnalysePlan plan, int workers) {
  const double share = static_cast<double>(workers) / plan.workers();
  const auto part = [&](int number) {
    return std::clamp(static_cast<int>(std::lround(number * share)), 1, workers - 1);
  };
  plan.backup = part(plan.backup);
  plan.quorum = part(plan.quorum);
  plan.cluster.workers.resize(static_cast<std::size_t>(workers));
  return plan;
}

}  // namespace starling::cli
