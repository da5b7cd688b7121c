#include "cli/bench/bench_train_runs.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/common/captured_process.h"
#include "cli/common/find_program.h"
#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
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

// What it said last.
std::string run(const Words& command) {
  CapturedProcess child(command, {.end_signal = SIGTERM, .environment = {{"OMP_NUM_THREADS", "1"}}});
  if (!child.wait(kPatience)) throw Error(concat("no end within ", format_duration(kPatience)));
  std::string words = child.last_words();
  if (child.exit_code() != 0) throw Error(words);
  return words;
}

double rate_of(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("samples") || !json.contains("seconds")) {
    throw Error(concat("it did not say what it measured but '", line, "'"));
  }
  return json["samples"].get<double>() / json["seconds"].get<double>();
}

// From the log of a run: when each worker began its steps, and when the last one ended.
double rate_of(const fs::path& events) {
  std::map<int, std::vector<double>> begins;
  double end = 0;
  std::ifstream file(events);
  for (std::string line; std::getline(file, line);) {
    const Json event = Json::parse(line, nullptr, false);
    if (!event.is_object() || !event.contains("rank")) continue;
    end = std::max(end, event["t"].get<double>() + event["d"].get<double>());
    if (event["what"] == "compute") begins[event["rank"]].push_back(event["t"]);
  }
  std::size_t steps = 0;
  double begin = end;
  for (const auto& [rank, times] : begins) {
    if (times.size() <= kWarmup) continue;
    steps += times.size() - kWarmup;
    begin = std::min(begin, times[kWarmup]);
  }
  if (steps == 0) throw Error("no worker came further than the warm-up");
  return static_cast<double>(steps * kBatch) / (end - begin);
}

Words training_flags() {
  return {"--model", "cnn",          "--data",     concat("noise:", kPictures),
          "--batch", concat(kBatch), "--threads",  "1",
          "--lr",    concat(kRate),  "--momentum", concat(kMomentum)};
}

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

double train(const BenchTrainOptions& options, const Words& strategy, double plain) {
  const TemporaryFolder folder;
  const double plain_seconds = static_cast<double>((options.steps + kWarmup) * kBatch) / plain;
  Words command = {"/proc/self/exe", "train", "--workers", concat(options.workers), "--strategy"};
  append(command, strategy);
  append(command, training_flags());
  for (std::size_t i = 0; i < options.slow.size(); ++i) {
    if (options.slow[i] != 1) append(command, {"--slow", fmt::format("{}:{}", i, options.slow[i])});
  }
  if (options.slowest() == 1) {
    append(command, {"--steps", concat(options.steps + kWarmup)});
  } else {
    append(command,
           {"--max-seconds", fmt::format("{:.3f}", (kFirstSteps + plain_seconds) * options.slowest())});
  }
  // DDP takes no snapshots of its model; here there is one, at the end.
  append(command, {"--eval-every", "24h", "--eval-points", "1", "--json", "--out", folder.path(), "--force"});
  run(command);
  return rate_of(folder.path() / "events.jsonl");
}

}  // namespace

double run_plain(const BenchTrainOptions& options) {
  const auto trainer = find_own_file("starling-trainer");
  if (!trainer) throw Error("no starling-trainer: LibTorch was not found when this program was built");
  Words command = {*trainer, "--plain", concat(kWarmup), "--steps", concat(options.steps + kWarmup)};
  append(command, training_flags());
  return rate_of(run(command));
}

double run_ddp(const BenchTrainOptions& options, const std::string& python) {
  const auto peer = find_own_file("ddp_peer.py");
  if (!peer) throw Error("no ddp_peer.py beside this program");
  const Json job = {{"workers", options.workers},
                    {"slow", options.slow},
                    {"steps", options.steps},
                    {"warmup", kWarmup},
                    {"batch", kBatch},
                    {"pictures", kPictures},
                    {"lr", kRate},
                    {"momentum", kMomentum}};
  return rate_of(run({python, *peer, job.dump()}));
}

double run_starling(const BenchTrainOptions& options, const Words& strategy, double plain) {
  return train(options, strategy, plain);
}

double run_alone(const BenchTrainOptions& options) {
  BenchTrainOptions alone = options;
  alone.workers = 1;
  alone.slow = {1};
  return train(alone, {"allreduce"}, 0);
}

}  // namespace starling::cli
