// Who else uses the machine changes from minute to minute, so the contestants take turns: every round trains
// once with each of them, and the medians over the rounds are compared.
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
#include "cli/common/machine.h"
#include "starling/core/error.h"
#include "starling/core/text.h"
#include "starling/core/version.h"

namespace starling::cli {
namespace {

struct Entry {
  TrainRow row;
  std::function<double()> run;
};

class TrainBench {
 public:
  explicit TrainBench(BenchTrainOptions options)
      : options_(std::move(options)), people_(options_.json == "-" ? stderr : stdout) {}

  void run() {
    introduce();
    enter();
    for (int round = 0; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < entries_.size(); ++i) measure(i, round);
    }
    compare();
    write_json();
    if (failed_) throw Error("not all of starling could be measured, see above");
  }

 private:
  void tell(const std::string& line) {
    fmt::print(people_, "{}\n", line);
    std::fflush(people_);
  }

  void introduce();
  void enter();
  void measure(std::size_t number, int round);
  void report_missing(const std::string& name, const std::string& why);
  std::optional<double> rate_of(std::string_view system) const;
  void compare();
  void write_json();

  BenchTrainOptions options_;
  std::FILE* people_;
  std::vector<Entry> entries_;  // the plain loop first
  nlohmann::ordered_json missing_ = nlohmann::ordered_json::object();
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
  tell("efficiency: of the plain loop's speed, divided by each worker's factor and summed.");
  if (options_.workers > cores) tell("There are more workers than cores: they take turns, in all systems.");
}

void TrainBench::report_missing(const std::string& name, const std::string& why) {
  if (!missing_.contains(name)) tell(concat(name, " is missing: ", why));
  missing_[name] = why;
}

void TrainBench::enter() {
  const auto add = [this](const char* system, std::string strategy, std::vector<double> slow,
                          std::function<double()> run) {
    entries_.push_back({TrainRow{system, std::move(strategy), std::move(slow), {}, {}, {}}, std::move(run)});
  };
  add("plain", "-", {1}, [this] { return run_plain(options_); });
  add("starling", "allreduce", {1}, [this] { return run_alone(options_); });
  if (options_.ddp) {
    const Availability found = find_gloo();  // the same Python will do
    if (!found.available) report_missing("ddp", found.detail);
    if (found.available) {
      const std::string python = found.command.front();
      add("ddp", "-", options_.slow, [this, python] { return run_ddp(options_, python); });
    }
  }
  for (const std::vector<std::string>& words : options_.strategies) {
    add("starling", join_texts(words, " "), options_.slow, [this, words] {
      const std::optional<double> plain = rate_of("plain");
      if (!plain) throw Error("without the plain loop it is not known how long to train");
      return run_starling(options_, words, *plain);
    });
  }
}

// What fails once fails always: it is not tried again.
void TrainBench::measure(std::size_t number, int round) {
  Entry& entry = entries_[number];
  if (!entry.run) return;
  const bool ours = entry.row.system == "starling";
  const std::string name = ours ? concat("starling ", entry.row.strategy) : entry.row.system;
  try {
    entry.row.rates.push_back(entry.run());
  } catch (const Error& error) {
    report_missing(name, error.what());
    entry.run = nullptr;
    failed_ = failed_ || entry.row.system != "ddp";
    return;
  }
  if (isatty(fileno(people_)) == 0) return;
  tell(fmt::format("round {} of {}: {}, {} workers: {:.0f} samples/s", round + 1, options_.rounds, name,
                   entry.row.slow.size(), entry.row.rates.back()));
}

std::optional<double> TrainBench::rate_of(std::string_view system) const {
  for (const Entry& entry : entries_) {
    if (entry.row.system == system) return entry.row.rate();
  }
  return std::nullopt;
}

void TrainBench::compare() {
  const std::optional<double> plain = rate_of("plain"), ddp = rate_of("ddp");
  tell(train_header());
  for (Entry& entry : entries_) {
    TrainRow& row = entry.row;
    const bool whole = row.slow == options_.slow;
    if (plain) row.limit = *plain * (whole ? options_.summed_speed() : 1);
    if (whole) row.ddp = ddp;
    tell(line_of(row));
  }
}

void TrainBench::write_json() {
  auto results = nlohmann::ordered_json::array();
  for (const Entry& entry : entries_) results.push_back(to_json(entry.row));
  write_report(options_.json, missing_, results);
}

}  // namespace

void add_bench_train(CLI::App& bench) {
  CLI::App* const command = bench.add_subcommand("train", "Training against PyTorch's DDP");
  const auto text = std::make_shared<BenchTrainText>();
  command->add_option("--against", text->against, "ddp or none")->capture_default_str();
  command->add_option("--workers", text->workers, "Workers of a group")->capture_default_str();
  command
      ->add_option("--slow", text->slow, "WORKER:FACTOR,..., as in 1:4: that worker is so many times slower")
      ->allow_extra_args(false)
      ->type_name("TEXT");
  command->add_option("--strategies", text->strategies, "Strategies with their options, between commas")
      ->capture_default_str();
  command->add_option("--steps", text->steps, "Timed steps of each worker")->capture_default_str();
  command->add_option("--rounds", text->rounds, "Rounds, of which the median counts")->capture_default_str();
  command->add_option("--json", text->json, "Also write the results to this file; - for standard output");
  command->callback([text] {
    BenchTrainOptions options = parse_options(*text);
    check_report(options.json);
    TrainBench(std::move(options)).run();
  });
}

}  // namespace starling::cli
