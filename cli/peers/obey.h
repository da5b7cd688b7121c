// A rank's side of the benchmark: it obeys lines from the control socket.
//
//   rank:  hello RANK                     once
//   bench: prepare OP BYTES               rank: ready
//   bench: time OP BYTES ITERATIONS       rank: done MICROSECONDS_PER_ITERATION
//   bench: quit, or the end of the stream
//
// Instead of an answer: "wrong TEXT" for a result that is not right, "failed TEXT" for any other error.
//
// Between two lines the rank sleeps in read(), so that it takes nothing from the subject that is being
// measured. Waiting inside the library, say in MPI_Bcast, would keep a core busy.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/peers/job.h"
#include "cli/peers/line_socket.h"

namespace starling::cli {

class BenchWorker {
 public:
  virtual ~BenchWorker() = default;

  // Makes room for the job, runs it once on known values, checks the result (WrongResult), then fills the
  // data with zeros: repeated sums of anything else would grow to infinity.
  virtual void prepare(const Job& job) = 0;
  // A barrier, then that many runs in a row. Microseconds per run.
  virtual double time(const Job& job, int iterations) = 0;
};

class BenchClock {
 public:
  double microseconds() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

inline std::string answer(BenchWorker& worker, const std::string& line) {
  const std::vector<std::string> words = split(line, ' ');
  if (words.size() < 3) throw Error(concat("not a command: ", line));
  const Job job{parse_op(words[1], "op"), parse_size(words[2], "bytes")};
  if (words[0] == "prepare") {
    worker.prepare(job);
    return "ready";
  }
  const auto iterations = static_cast<int>(parse_integer(words.at(3), "iterations", 1, 1'000'000'000));
  return concat("done ", worker.time(job, iterations));
}

inline void obey(LineSocket& control, BenchWorker& worker) {
  while (const std::optional<std::string> line = control.wait_for_line()) {
    if (*line == "quit") return;
    try {
      control.send_line(answer(worker, *line));
    } catch (const WrongResult& error) {
      control.send_line(concat("wrong ", error.what()));
    } catch (const std::exception& error) {
      control.send_line(concat("failed ", error.what()));
    }
  }
}

inline void obey(const std::string& address, Rank rank, BenchWorker& worker) {
  LineSocket control = connect_to(address);
  control.send_line(concat("hello ", rank));
  obey(control, worker);
}

}  // namespace starling::cli
