// The results of the benchmark: rows of a table for people, and JSON.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/bench_subjects.h"
#include "cli/peers/job.h"

namespace starling::cli {

// Medians, in microseconds per operation; none for a missing subject.
struct TableRow {
  Job job;
  int ranks = 0;
  std::optional<double> starling_us;
  std::optional<double> copy_us;
  std::map<std::string, std::optional<double>> peer_us;  // by name

  // The peer's time over ours.
  std::optional<double> ratio(const std::string& peer) const;
  // Read and written by all copying threads together.
  std::optional<double> copy_bytes_per_second() const;
  // The time that copying the least possible number of bytes takes, over our time.
  std::optional<double> memory_share() const;
};

// The least number of bytes to read and write, over all ranks. Zero for one rank: nothing has to move.
double bytes_that_must_move(const Job& job, int ranks);

// "12.3 us", "-" for nothing
std::string format_time(std::optional<double> microseconds);
std::string format_ratio(std::optional<double> ratio);

// One cell per whole, at most eight; Unicode has eighths, ASCII is rounded. A bar that was cut ends in '>'.
std::string bar(std::optional<double> ratio, bool unicode);

class Table {
 public:
  Table(std::vector<const Peer*> against, bool unicode) : against_(std::move(against)), unicode_(unicode) {}

  std::string header() const;
  std::string line(const TableRow& row) const;

 private:
  std::vector<const Peer*> against_;
  bool unicode_;
};

// Whether what is written to the descriptor may contain more than ASCII: a terminal and a UTF-8 locale.
bool shows_unicode(int descriptor);

nlohmann::ordered_json number_or_null(std::optional<double> value);
// Every known peer has its keys, null where it was missing or not asked for.
nlohmann::ordered_json to_json(const TableRow& row);

}  // namespace starling::cli
