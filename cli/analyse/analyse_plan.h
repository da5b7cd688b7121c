// The plan of `starling analyse`: from the words of the command line to workers, strategies and seeds.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/flag.h"
#include "starling/analysis/crew.h"
#include "starling/cluster/cluster.h"
#include "starling/cluster/cluster_flags.h"

namespace starling::cli {

// As given: each value is checked for itself, and plan_analysis checks what goes together.
struct AnalyseFlags {
  Given<long long> workers;
  cluster::ClusterFlags cluster;  // without the workers
  Given<Duration> step_time, comm, deadline;
  Given<std::uint64_t> batch, backup, staleness, period, pieces, quorum;
  Given<std::uint64_t> steps;
  Given<std::vector<std::uint64_t>> seeds;
  bool without_simulation = false;
  std::optional<std::string> json, svg;
};

void add_analyse_flags(CLI::App& command, AnalyseFlags& flags);

struct AnalysePlan {
  cluster::Cluster cluster;
  cluster::Jitter jitter;
  bool factor_by_piece = false;
  double step_seconds = 1;
  double comm_seconds = 0;
  double deadline_seconds = 1;
  int batch = 0;
  int backup = 0, staleness = 0, period = 0, pieces = 0, quorum = 0;
  std::uint64_t steps = 0;
  std::vector<std::uint64_t> seeds;
  bool simulates = true;
  std::optional<std::string> json, svg;

  int workers() const { return static_cast<int>(cluster.workers.size()); }
  analysis::Crew crew() const;
};

// InvalidArgument for everything that is wrong.
AnalysePlan plan_analysis(const AnalyseFlags& flags);

// The same with the first of the workers only; backup workers and quorum in proportion.
AnalysePlan with_workers(AnalysePlan plan, int workers);

}  // namespace starling::cli
