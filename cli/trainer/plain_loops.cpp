#include "cli/trainer/plain_loops.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "starling/core/error.h"
#include "starling/launch/forked_ranks.h"
#include "starling/torch/baseline_loop.h"

namespace starling::cli {
namespace {

using std::chrono::steady_clock;

// In memory that the processes share.
class FinishedCount {
 public:
  FinishedCount() {
    void* const memory =
        mmap(nullptr, sizeof *count_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error(concat("mmap: ", std::strerror(errno)));
    count_ = new (memory) std::atomic<int>(0);
  }
  ~FinishedCount() { munmap(count_, sizeof *count_); }
  FinishedCount(const FinishedCount&) = delete;
  FinishedCount& operator=(const FinishedCount&) = delete;

  void add() { ++*count_; }
  int get() const { return *count_; }

 private:
  std::atomic<int>* count_ = nullptr;
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

File temporary_file() {
  File file(std::tmpfile());
  if (!file) throw Error(concat("tmpfile: ", std::strerror(errno)));
  return file;
}

void write_ends(std::FILE* file, const std::vector<steady_clock::time_point>& ends,
                steady_clock::time_point origin) {
  for (const auto end : ends) {
    std::fprintf(file, "%.9f\n", std::chrono::duration<double>(end - origin).count());
  }
  if (std::fflush(file) != 0) throw Error(concat("temporary file: ", std::strerror(errno)));
}

std::vector<double> read_ends(std::FILE* file) {
  std::rewind(file);
  std::vector<double> ends;
  for (double end = 0; std::fscanf(file, "%lf", &end) == 1;) ends.push_back(end);
  return ends;
}

}  // namespace

void run_plain_loops(const TrainPlan& plan) {
  FinishedCount finished;
  std::vector<File> files;
  files.reserve(static_cast<std::size_t>(plan.workers));
  for (int worker = 0; worker < plan.workers; ++worker) files.push_back(temporary_file());
  const auto origin = steady_clock::now();
  launch::ForkedRanks ranks(plan.workers, [&](const transport::Transport& net) {
    const auto go_on = [&](std::uint64_t steps) {
      if (steps == *plan.setting.steps) finished.add();
      return finished.get() < plan.workers;
    };
    const auto ends = torch::train_baseline(plan.setting, net.rank(), plan.workers, go_on);
    write_ends(files[static_cast<std::size_t>(net.rank())].get(), ends, origin);
  });
  for (const launch::Outcome& outcome : ranks.wait()) {
    if (outcome.good()) continue;
    throw Error(outcome.error.empty() ? concat("a plain loop ended with signal ", outcome.signal)
                                      : outcome.error);
  }
  nlohmann::json ends = nlohmann::json::array();
  for (const File& file : files) ends.push_back(read_ends(file.get()));
  std::printf("%s\n", nlohmann::json({{"step_ends", ends}}).dump().c_str());
}

}  // namespace starling::cli
