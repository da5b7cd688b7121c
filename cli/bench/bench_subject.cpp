#include "cli/bench/bench_subject.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "cli/peers/obey.h"

namespace starling::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration kStartPatience = 120s;  // importing PyTorch on a busy machine
constexpr Duration kAnswerPatience = 60s;
constexpr double kRoundMicroseconds = 75'000;
constexpr double kFarewellMicroseconds = 3'000'000;

double parse_time(const std::string& answer) {
  constexpr std::string_view kDone = "done ";
  if (!answer.starts_with(kDone)) throw Error(concat("not a time: ", answer));
  return std::stod(answer.substr(kDone.size()));
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

int iterations_for(double microseconds) {
  constexpr double kMost = 1e6;
  return static_cast<int>(
      std::clamp(std::ceil(kRoundMicroseconds / std::max(microseconds, 1e-3)), 1.0, kMost));
}

// The number of runs follows the machine: other processes may have disturbed the last estimate. It grows in
// steps, because the first runs are slower than the later ones.
double RoundLength::measure(const std::function<double(int iterations)>& time) {
  for (;;) {
    const double microseconds = time(iterations_);
    const int wanted = iterations_for(microseconds);
    const bool enough = wanted <= 2 * iterations_;
    iterations_ = enough ? wanted : std::min(wanted, 16 * iterations_);
    if (enough) return microseconds;
  }
}

BenchSubject::BenchSubject(std::string name, int connections, const Start& start)
    : name_(std::move(name)), control_(connections) {
  attempt([&] { processes_ = start(control_.address()); });
}

// Ranks that may end by themselves leave nothing behind; those that do not are killed.
BenchSubject::~BenchSubject() {
  control_.quit();
  const BenchClock watch;
  while (processes_ && !processes_->any_ended() && watch.microseconds() < kFarewellMicroseconds) {
    std::this_thread::sleep_for(1ms);
  }
}

void BenchSubject::attempt(const std::function<void()>& action) {
  if (why_missing_) return;
  try {
    action();
  } catch (const WrongResult& error) {
    throw WrongResult(concat(name_, " computes a wrong result: ", error.what()));
  } catch (const std::exception& error) {
    const std::string words = processes_ ? processes_->last_words() : "";
    why_missing_ = words.empty() ? error.what() : concat(error.what(), ": ", words);
    processes_.reset();
    rounds_.clear();
  }
}

void BenchSubject::connect() {
  attempt([&] { control_.wait_for_hellos(kStartPatience, [&] { return processes_->any_ended(); }); });
}

double BenchSubject::time(int iterations) {
  const std::string line = concat("time ", name_of(job_.op), " ", job_.bytes, " ", iterations);
  double slowest = 0;
  for (const std::string& answer : control_.ask(line, kAnswerPatience))
    slowest = std::max(slowest, parse_time(answer));
  return slowest;
}

void BenchSubject::prepare(const Job& job) {
  job_ = job;
  rounds_.clear();
  length_ = {};
  attempt([&] {
    control_.ask(concat("prepare ", name_of(job.op), " ", job.bytes), kAnswerPatience);
    length_.measure([this](int iterations) { return time(iterations); });
  });
}

void BenchSubject::run_round() {
  attempt([&] { rounds_.push_back(length_.measure([this](int iterations) { return time(iterations); })); });
}

std::optional<double> BenchSubject::microseconds() const {
  return rounds_.empty() ? std::nullopt : std::optional(median(rounds_));
}

}  // namespace starling::cli
