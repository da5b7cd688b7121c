// A subject of the benchmark: some ranks that wait for commands, and their measurements.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/bench_control.h"
#include "cli/common/process_group.h"
#include "cli/peers/job.h"

namespace starling::cli {

// The middle one, or the mean of the two in the middle. At least one value.
double median(std::vector<double> values);

// How many runs make a round of about 75 ms, if one takes that many microseconds.
int iterations_for(double microseconds);

// Finds out how many runs make a round.
class RoundLength {
 public:
  // Calls time(iterations), which returns the microseconds of a run, until there were enough of them in a
  // row.
  double measure(const std::function<double(int iterations)>& time);

 private:
  int iterations_ = 1;
};

// From its first failure on a subject is missing: calls do nothing and there are no results. Only a wrong
// result is thrown (WrongResult), because then no number can be trusted.
class BenchSubject {
 public:
  // Starts the processes, which will connect to the address.
  using Start = std::function<std::unique_ptr<ProcessGroup>(const std::string& address)>;

  BenchSubject(std::string name, int connections, const Start& start);
  BenchSubject(const BenchSubject&) = delete;
  BenchSubject& operator=(const BenchSubject&) = delete;
  ~BenchSubject();

  const std::string& name() const { return name_; }
  const std::optional<std::string>& why_missing() const { return why_missing_; }

  void connect();

  void prepare(const Job& job);
  void run_round();
  // Microseconds per run: of each round the slowest rank, of these the median. Nothing without any round.
  std::optional<double> microseconds() const;

 private:
  void attempt(const std::function<void()>& action);
  double time(int iterations);

  std::string name_;
  BenchControl control_;
  std::unique_ptr<ProcessGroup> processes_;
  std::optional<std::string> why_missing_;
  Job job_;
  RoundLength length_;
  std::vector<double> rounds_;
};

}  // namespace starling::cli
