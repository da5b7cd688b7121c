#include "cli/bench/bench_train_runs.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/bench/core_limit.h"
#include "cli/bench/train_rate.h"
#include "cli/common/captured_process.h"
#include "cli/common/find_program.h"
#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr int kWarmup = 5;  // steps: the first ones make LibTorch's plans
constexpr int kBatch = 32;
constexpr int kPictures = 4096;
constexpr double kRate = 0.02;
constexpr double kMomentum = 0.9;
constexpr double kFirstSteps = 1;  // seconds that the first steps may take longer than others
constexpr Duration kPatience = std::chrono::hours(1);

// Goes with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = fs::temp_directory_path() / "starling-bench.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw Error(concat(name, ": ", std::strerror(errno)));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The C library keeps freed memory: else a system whose gradients are made anew in every step would be timed
// while the kernel clears pages for it, by a setting that its users can change.
std::vector<std::pair<std::string, std::string>> same_for_all() {
  return {{"OMP_NUM_THREADS", "1"},
          {"MALLOC_MMAP_MAX_", "0"},
          {"MALLOC_TRIM_THRESHOLD_", "2147483647"},
          {"MALLOC_TOP_PAD_", "67108864"}};
}

// The last output of the command.
std::string run(const BenchTrainOptions& options, const Words& command) {
  const CoreLimit cores(options.workers);
  CapturedProcess child(command, {.end_signal = SIGTERM, .environment = same_for_all()});
  if (!child.wait(kPatience)) throw Error(concat("it did not end within ", format_duration(kPatience)));
  std::string words = child.last_words();
  if (child.exit_code() != 0) throw Error(words);
  return words;
}

TrainMeasurement measured(const BenchTrainOptions& options, const StepEnds& ends, double samples) {
  if (ends.size() != options.slow.size()) {
    throw Error(concat("it told of ", ends.size(), " workers, not of ", options.slow.size()));
  }
  const TimedSteps timed = timed_steps(ends, kWarmup, options.steps);
  return {.rate = timed.steps * samples / timed.seconds, .seconds = timed.seconds, .shares = {}};
}

// For contestants that report themselves when their steps ended.
TrainMeasurement measured(const BenchTrainOptions& options, const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("step_ends")) {
    throw Error(concat("it printed no measurement but '", line, "'"));
  }
  return measured(options, json["step_ends"].get<StepEnds>(), kBatch);
}

// From the files of a run. The worker's own count of its steps must be the one in the log.
TrainMeasurement measured(const BenchTrainOptions& options, const fs::path& folder) {
  std::ifstream file(folder / "summary.json"), events(folder / "events.jsonl");
  const nlohmann::json summary = nlohmann::json::parse(file);
  const StepEnds ends = read_step_ends(events);
  double steps = 0;
  nlohmann::json counted = nlohmann::json::array();
  for (const std::vector<double>& own : ends) {
    counted.push_back(own.size());
    steps += static_cast<double>(own.size());
  }
  if (counted != summary["steps_per_worker"]) {
    throw Error(concat("the workers made ", summary["steps_per_worker"].dump(), " steps, their log has ",
                       counted.dump()));
  }
  TrainMeasurement result = measured(options, ends, summary["samples"].get<double>() / steps);
  result.shares = shares_in(summary);
  return result;
}

Words training_flags() {
  return {"--model", "cnn",          "--data",     concat("noise:", kPictures),
          "--batch", concat(kBatch), "--threads",  "1",
          "--lr",    concat(kRate),  "--momentum", concat(kMomentum)};
}

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

Words slow_flags(const BenchTrainOptions& options) {
  Words flags = {"--workers", concat(options.workers)};
  for (std::size_t i = 0; i < options.slow.size(); ++i) {
    if (options.slow[i] != 1) append(flags, {"--slow", fmt::format("{}:{}", i, options.slow[i])});
  }
  return flags;
}

}  // namespace

TrainMeasurement run_plain(const BenchTrainOptions& options) {
  const auto trainer = find_own_file("starling-trainer");
  if (!trainer)
    throw Error("starling-trainer is missing: LibTorch was not found when this program was built");
  Words command = {*trainer, "--plain", "--steps", concat(options.steps + kWarmup)};
  append(command, training_flags());
  append(command, slow_flags(options));
  return measured(options, run(options, command));
}

TrainMeasurement run_ddp(const BenchTrainOptions& options, const std::string& python) {
  const auto peer = find_own_file("ddp_peer.py");
  if (!peer) throw Error("ddp_peer.py is missing beside this program");
  const nlohmann::json job = {{"workers", options.workers},
                              {"slow", options.slow},
                              {"steps", options.steps + kWarmup},
                              {"batch", kBatch},
                              {"pictures", kPictures},
                              {"lr", kRate},
                              {"momentum", kMomentum}};
  return measured(options, run(options, {python, *peer, job.dump()}));
}

TrainMeasurement run_starling(const BenchTrainOptions& options, const Words& strategy, double plain_seconds) {
  const TemporaryFolder folder;
  Words command = {"/proc/self/exe", "train", "--strategy"};
  append(command, strategy);
  append(command, training_flags());
  append(command, slow_flags(options));
  const auto steps = static_cast<double>(options.steps);
  const double seconds = plain_seconds * (steps + kWarmup) / steps + kFirstSteps * options.slowest();
  const bool equal = options.slowest() == 1;
  append(command, equal ? Words{"--steps", concat(options.steps + kWarmup)}
                        : Words{"--max-seconds", fmt::format("{:.3f}", seconds)});
  // DDP takes no snapshots of its model; here there is one, at the end.
  append(command, {"--eval-every", "24h", "--eval-points", "1", "--json", "--out", folder.path(), "--force"});
  run(options, command);
  return measured(options, folder.path());
}

}  // namespace starling::cli
