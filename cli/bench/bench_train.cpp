// Other programs use the machine more in one minute and less in the next, so the contestants take turns:
// every round trains once with each of them, and the medians over the rounds are compared.
#include "cli/bench/bench_train.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>

#include "cli/bench/bench_report.h"
#include "cli/bench/bench_subjects.h"
#include "cli/bench/bench_train_options.h"
#include "cli/bench/bench_train_runs.h"
#include "cli/bench/bench_train_table.h"
#include "cli/bench/other_load.h"
#include "cli/common/machine.h"
#include "starling/core/error.h"
#include "starling/core/text.h"
#include "starling/core/version.h"

namespace starling::cli {
namespace {

// Rounds that are added while a result is impossible: a busy machine is no reason to give up, and what is
// counted wrongly stays impossible.
constexpr int kMoreRounds = 2;

// More than this part of the cores is enough of other programs to change the results.
constexpr double kQuiet = 0.05;

struct Entry {
  TrainRow row;
  std::function<TrainMeasurement()> run;
  double seconds = 0;                   // of the last round's window
  std::vector<TimeShares> shares = {};  // by round, of those that tell
};

BenchTrainOptions one_worker(BenchTrainOptions options) {
  options.workers = 1;
  options.slow = {1};
  return options;
}

class TrainBench {
 public:
  explicit TrainBench(BenchTrainOptions options)
      : options_(std::move(options)), people_(options_.json == "-" ? stderr : stdout) {}

  void run() {
    introduce();
    enter();
    for (int round = 0; round < options_.rounds; ++round) measure_all(round);
    compare();
    for (int more = 0; more < kMoreRounds && impossible(); ++more) {
      tell(concat(*impossible(), "; one more round"));
      measure_all(options_.rounds + more);
      compare();
    }
    report();
    write_json();
    if (failed_) throw Error("some Starling runs could not be measured, see above");
    if (const auto why = impossible()) throw Error(*why);
  }

 private:
  void tell(const std::string& line) {
    fmt::print(people_, "{}\n", line);
    std::fflush(people_);
  }

  void introduce();
  void enter();
  void measure_all(int round);
  void measure(Entry& entry, int round);
  void report_missing(const std::string& name, const std::string& why);
  using Slow = std::vector<double>;
  const Entry* find(std::string_view system, const Slow& slow) const;
  std::optional<double> rate_of(std::string_view system, const Slow& slow) const;
  double plain_seconds() const;
  void compare();
  std::optional<std::string> impossible() const;
  void report();
  void report_limits();
  void write_json();

  BenchTrainOptions options_;
  std::FILE* people_;
  std::vector<Entry> entries_;  // the plain loops first
  nlohmann::ordered_json missing_ = nlohmann::ordered_json::object();
  OtherLoad others_;
  bool failed_ = false;
};

void TrainBench::introduce() {
  const int cores = usable_cores();
  tell(fmt::format(
      "Starling {} on {}, {}; a network of 2.1 million parameters, 32 pictures a step, one thread a "
      "worker;",
      version(), cpu_name(), cores_text(cores)));
  tell(fmt::format("medians of {} interleaved rounds of {} steps. vs ddp: above 1 it is faster than DDP.",
                   options_.rounds, options_.steps));
  tell(
      "spread: from the slowest round to the fastest. efficiency: of what as many plain loops do at the "
      "same");
  tell(
      fmt::format("time on the same cores; above {} is impossible and ends with an error.", kMostEfficiency));
  if (options_.workers > cores)
    tell("There are more workers than cores; in every system the workers share them.");
}

void TrainBench::report_missing(const std::string& name, const std::string& why) {
  if (!missing_.contains(name)) tell(concat(name, " is missing: ", why));
  missing_[name] = why;
}

void TrainBench::enter() {
  const auto add = [this](const char* system, std::string strategy, const BenchTrainOptions& options,
                          std::function<TrainMeasurement()> run) {
    entries_.push_back({TrainRow{system, std::move(strategy), options.slow, {}, {}, {}}, std::move(run)});
  };
  const BenchTrainOptions alone = one_worker(options_);
  if (options_.slow != alone.slow) add("plain", "-", alone, [alone] { return run_plain(alone); });
  add("plain", "-", options_, [this] { return run_plain(options_); });
  if (options_.slow != alone.slow)
    add("starling", "allreduce", alone, [alone] { return run_starling(alone, {"allreduce"}, 0); });
  if (options_.ddp) {
    const Availability found = find_gloo();  // the same Python will do
    if (!found.available) report_missing("ddp", found.detail);
    if (found.available) {
      const std::string python = found.command.front();
      add("ddp", "-", options_, [this, python] { return run_ddp(options_, python); });
    }
  }
  for (const std::vector<std::string>& words : options_.strategies) {
    add("starling", join_texts(words, " "), options_,
        [this, words] { return run_starling(options_, words, plain_seconds()); });
  }
}

void TrainBench::measure_all(int round) {
  for (Entry& entry : entries_) measure(entry, round);
}

// A subject that fails once fails always: it is not tried again.
void TrainBench::measure(Entry& entry, int round) {
  if (!entry.run) return;
  const bool ours = entry.row.system == "starling";
  const std::string name = ours ? concat("starling ", entry.row.strategy) : entry.row.system;
  try {
    const TrainMeasurement measured = entry.run();
    entry.row.rates.push_back(measured.rate);
    entry.seconds = measured.seconds;
    if (measured.shares) entry.shares.push_back(*measured.shares);
  } catch (const Error& error) {
    report_missing(name, error.what());
    entry.run = nullptr;
    failed_ = failed_ || entry.row.system != "ddp";
    return;
  }
  if (isatty(fileno(people_)) == 0) return;
  tell(fmt::format("round {}: {}, {} workers: {:.0f} samples/s", round + 1, name, entry.row.slow.size(),
                   entry.row.rates.back()));
}

const Entry* TrainBench::find(std::string_view system, const Slow& slow) const {
  for (const Entry& entry : entries_) {
    if (entry.row.system == system && entry.row.slow == slow) return &entry;
  }
  return nullptr;
}

std::optional<double> TrainBench::rate_of(std::string_view system, const Slow& slow) const {
  const Entry* const entry = find(system, slow);
  return entry == nullptr ? std::nullopt : entry->row.rate();
}

// The time of the current round.
double TrainBench::plain_seconds() const {
  const Entry* const plain = find("plain", options_.slow);
  if (plain->row.rates.empty()) throw Error("without the plain loops it is not known how long to train");
  return plain->seconds;
}

void TrainBench::compare() {
  for (Entry& entry : entries_) {
    entry.row.limit = rate_of("plain", entry.row.slow);
    entry.row.ddp = rate_of("ddp", entry.row.slow);
  }
}

std::optional<std::string> TrainBench::impossible() const {
  for (const Entry& entry : entries_) {
    if (auto why = contradiction(entry.row)) return why;
  }
  return std::nullopt;
}

void TrainBench::report() {
  tell(train_header());
  for (const Entry& entry : entries_) tell(line_of(entry.row));
  report_limits();
  if (const double others = others_.share().value_or(0); others > kQuiet) {
    tell(fmt::format("Other programs used {:.0f} % of the cores meanwhile: measure again on a quiet machine.",
                     others * 100));
  }
}

void TrainBench::report_limits() {
  tell("Where a worker's time goes:");
  for (const Entry& entry : entries_) {
    if (entry.shares.empty()) continue;
    tell(fmt::format("{:<24}{:>8}  {}", entry.row.strategy, entry.row.slow.size(),
                     text_of(mean_of(entry.shares))));
  }
}

void TrainBench::write_json() {
  auto results = nlohmann::ordered_json::array();
  for (const Entry& entry : entries_) {
    results.push_back(to_json(entry.row));
    if (!entry.shares.empty()) results.back()["time_shares"] = to_json(mean_of(entry.shares));
  }
  write_report(options_.json, missing_, results);
}

}  // namespace

void add_bench_train(CLI::App& bench) {
  CLI::App* const command = bench.add_subcommand("train", "Training against PyTorch's DDP");
  const auto flags = std::make_shared<BenchTrainFlags>();
  add_bench_train_flags(*command, *flags);
  command->callback([flags] {
    BenchTrainOptions options = parse_options(*flags);
    check_report(options.json);
    TrainBench(std::move(options)).run();
  });
}

}  // namespace starling::cli
