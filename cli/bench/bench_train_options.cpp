#include "cli/bench/bench_train_options.h"

#include <algorithm>

#include "cli/common/shared_flags.h"
#include "cli/common/strategy_flags.h"
#include "starling/cluster/cluster_flags.h"
#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::cli {
namespace {

constexpr int kMostWorkers = 64;
constexpr int kMostRounds = 1000;
constexpr std::uint64_t kMostBenchSteps = 1'000'000;
constexpr double kSlowest = 1000;

// Factors of the whole run, by worker.
std::vector<double> read_slow(const BenchTrainFlags& flags, int workers) {
  const cluster::Cluster cluster =
      cluster::make_cluster({.workers = std::to_string(workers), .slow = flags.slow});
  if (!cluster.faults.empty()) {
    throw InvalidArgument(concat("--slow: '", join_texts(flags.slow, ","),
                                 "' has times; allowed in bench: WORKER:FACTOR for the whole run"));
  }
  std::vector<double> slow;
  for (const cluster::WorkerSpec& worker : cluster.workers) slow.push_back(1 / worker.speed);
  for (const double factor : slow) {
    if (factor >= 1 && factor <= kSlowest) continue;
    throw InvalidArgument(concat("--slow: a factor of ", factor, "; allowed in bench: 1 to ", kSlowest));
  }
  return slow;
}

std::vector<std::string> parse_strategy(const std::string& text, int workers) {
  std::vector<std::string> words;
  for (const std::string& word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  if (words.empty()) throw InvalidArgument(concat("--strategies: '", text, "' names no strategy"));
  const strategy::StrategyEntry& row = strategy::find_strategy(words.front());
  const auto texts = read_strategy_flags(row, {words.begin() + 1, words.end()}, {});
  row.make(strategy::Options::parse(row.options, row.name, texts), workers);  // refuses what does not fit
  return words;
}

}  // namespace

double BenchTrainOptions::slowest() const { return *std::max_element(slow.begin(), slow.end()); }

double BenchTrainOptions::summed_speed() const {
  double speed = 0;
  for (const double factor : slow) speed += 1 / factor;
  return speed;
}

void add_bench_train_flags(CLI::App& command, BenchTrainFlags& flags) {
  const SharedFlags& shared = shared_flags();
  command.add_option("--against", flags.against, "ddp or none")->capture_default_str();
  add(command, shared.workers, flags.workers)->default_str("2");
  add(command, shared.slow, flags.slow);
  command.add_option("--strategies", flags.strategies, "strategies with their options, between commas")
      ->capture_default_str();
  add(command, shared.steps, flags.steps)->default_str("60");
  command.add_option("--rounds", flags.rounds, "rounds, whose median counts")->capture_default_str();
  command.add_option("--json", flags.json, "also writes the results to this file; - for standard output");
}

BenchTrainOptions parse_options(const BenchTrainFlags& flags) {
  BenchTrainOptions options;
  if (flags.against != "ddp" && flags.against != "none") {
    throw InvalidArgument(concat("--against: '", flags.against, "' is not one of ddp, none"));
  }
  options.ddp = flags.against == "ddp";
  options.workers = in_range(flags.workers, "--workers", 2, 1, kMostWorkers);
  options.slow = read_slow(flags, options.workers);
  for (const std::string& strategy : split(flags.strategies, ',')) {
    options.strategies.push_back(parse_strategy(strategy, options.workers));
  }
  if (options.strategies.empty()) throw InvalidArgument("--strategies: '' names no strategy");
  options.steps = flags.steps.value_or(60);
  if (options.steps > kMostBenchSteps)
    throw InvalidArgument(
        concat("--steps: '", flags.steps.text(), "'; allowed in bench: 1 to ", kMostBenchSteps));
  options.rounds = static_cast<int>(parse_integer(flags.rounds, "--rounds", 1, kMostRounds));
  options.json = flags.json;
  return options;
}

}  // namespace starling::cli
