#include "cli/bench/bench_train_options.h"

#include <algorithm>

#include "cli/common/strategy_flags.h"
#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::cli {
namespace {

constexpr int kMostWorkers = 64;
constexpr int kMostRounds = 1000;
constexpr long long kMostSteps = 1'000'000;
constexpr double kSlowest = 1000;

// "1:4" and "0:2,1:4"
void parse_slow(const std::string& text, std::vector<double>& slow) {
  const std::vector<std::string> entries = split(text, ',');
  if (entries.empty()) throw InvalidArgument("--slow: '' names nothing; allowed: WORKER:FACTOR, as in 1:4");
  for (const std::string& entry : entries) {
    const std::size_t colon = entry.find(':');
    if (colon == std::string::npos) {
      throw InvalidArgument(concat("--slow: bad entry '", entry, "'; allowed: WORKER:FACTOR, as in 1:4"));
    }
    const auto last = static_cast<long long>(slow.size()) - 1;
    const auto worker = static_cast<std::size_t>(parse_integer(entry.substr(0, colon), "--slow", 0, last));
    slow[worker] = parse_number(entry.substr(colon + 1), "--slow", 1, kSlowest);
  }
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

BenchTrainOptions parse_options(const BenchTrainText& text) {
  BenchTrainOptions options;
  if (text.against != "ddp" && text.against != "none") {
    throw InvalidArgument(concat("--against: '", text.against, "' is not one of ddp, none"));
  }
  options.ddp = text.against == "ddp";
  options.workers = static_cast<int>(parse_integer(text.workers, "--workers", 1, kMostWorkers));
  options.slow.assign(static_cast<std::size_t>(options.workers), 1);
  for (const std::string& slow : text.slow) parse_slow(slow, options.slow);
  for (const std::string& strategy : split(text.strategies, ',')) {
    options.strategies.push_back(parse_strategy(strategy, options.workers));
  }
  if (options.strategies.empty()) throw InvalidArgument("--strategies: '' names no strategy");
  options.steps = static_cast<std::uint64_t>(parse_integer(text.steps, "--steps", 1, kMostSteps));
  options.rounds = static_cast<int>(parse_integer(text.rounds, "--rounds", 1, kMostRounds));
  options.json = text.json;
  return options;
}

}  // namespace starling::cli
