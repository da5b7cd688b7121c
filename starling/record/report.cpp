#include "starling/record/report.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "starling/core/text.h"
#include "starling/record/summary.h"

namespace starling::record {
namespace {

constexpr std::size_t kMostLines = 24;
constexpr std::size_t kShownAtEitherEnd = 8;
constexpr double kNotable = 0.05;  // of the workers' time
constexpr std::size_t kMostUnhappy = 5;

using Cells = std::array<std::string, 8>;
constexpr std::array<int, 8> kWidths = {6, 8, 11, 11, 9, 12, 10, 11};

Cells header() {
  return {"worker", "steps", "samples/s", "computing", "waiting", "most for", "transfer", "sent"};
}

// Three significant digits, all digits of larger numbers.
std::string digits(double value) {
  char text[64];
  std::snprintf(text, sizeof text, std::abs(value) >= 1000 ? "%.0f" : "%.3g", value);
  return text;
}

std::string percent(double part, double whole) {
  if (!(whole > 0)) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * part / whole);
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return concat(digits(value), " ", kUnits[unit]);
}

std::string name_of(const RunRecord& run, Rank rank) {
  return concat(run.ranks[static_cast<std::size_t>(rank)].trains ? "worker " : "service ", rank);
}

std::string line(const Cells& cells) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t width = static_cast<std::size_t>(kWidths[i]);
    const std::size_t least = i > 0 ? 1 : 0;
    text.append(std::max(width - std::min(width, cells[i].size()), least), ' ');
    text += cells[i];
  }
  return text + "\n";
}

class Report {
 public:
  Report(const RunRecord& run, const WaitAnalysis& waits) : run_(run), waits_(waits) {
    for (std::size_t i = 0; i < run.ranks.size(); ++i) {
      if (run.ranks[i].trains) workers_.push_back(i);
    }
  }

  // Without a record nothing is known of the workers' time.
  std::string text() const {
    const bool timed = run_.record != RecordMode::kOff;
    return (timed ? table() : "") + progress() + outcome() + staleness() + locks() + fusion() +
           (timed ? codes() + blame() : "") + unhappy_ends();
  }

 private:
  double time_of(std::size_t i) const { return seconds_of(run_.ranks[i].end - run_.ranks[i].begin); }
  double workers_time() const {
    double sum = 0;
    for (const std::size_t i : workers_) sum += time_of(i);
    return sum;
  }

  bool shown(std::size_t place) const;
  std::string table() const;
  std::string worker_line(std::size_t i) const;
  std::string progress() const;
  std::string outcome() const;
  std::string staleness() const;
  std::string locks() const;
  std::string codes() const;
  std::string fusion() const;
  std::string blame() const;
  std::string no_blame() const;
  std::string unhappy_ends() const;

  const RunRecord& run_;
  const WaitAnalysis& waits_;
  std::vector<std::size_t> workers_;
};

bool Report::shown(std::size_t place) const {
  return workers_.size() <= kMostLines || place < kShownAtEitherEnd ||
         place + kShownAtEitherEnd >= workers_.size() ||
         waits_.most_waited_for == static_cast<Rank>(workers_[place]);
}

std::string Report::table() const {
  std::string text = line(header());
  std::size_t left_out = 0;
  for (std::size_t place = 0; place < workers_.size(); ++place) {
    if (shown(place)) {
      text += worker_line(workers_[place]);
    } else {
      ++left_out;
      if (shown(place - 1)) text += "   ...\n";
    }
  }
  if (left_out > 0) text += concat(left_out, " of ", workers_.size(), " workers are left out.\n");
  return text + "\n";
}

std::string Report::worker_line(std::size_t i) const {
  const RankRecord& record = run_.ranks[i];
  const RankTimes& times = waits_.ranks[i];
  const double time = time_of(i);
  const std::string waiting = percent(seconds_of(times.waiting), time);
  const bool waits = times.most_waited_for != kNobody && waiting != percent(0, 1);
  return line({std::to_string(record.rank), std::to_string(record.journal.steps),
               time > 0 ? digits(static_cast<double>(record.journal.samples) / time) : "-",
               percent(seconds_of(times.computing), time), waiting,
               waits ? name_of(run_, times.most_waited_for) : "-",
               percent(seconds_of(times.transferring), time), bytes_text(record.bytes_sent)});
}

std::string Report::progress() const {
  const double time = seconds_of(run_.duration);
  const std::uint64_t samples = samples_of(run_);
  std::string text = concat(run_.strategy, ", ", run_.world, ": ", format_duration(run_.duration), ", ",
                            samples, " samples");
  if (time > 0) text += concat(", ", digits(static_cast<double>(samples) / time), " samples/s");
  return text + "\n";
}

std::string Report::outcome() const {
  std::vector<std::string> parts;
  if (diverged(run_)) {
    parts.emplace_back("diverged: the loss is no longer a number");
  } else if (run_.final_train_loss) {
    parts.push_back(concat("final loss ", digits(*run_.final_train_loss)));
  }
  if (run_.final_accuracy) parts.push_back(concat("accuracy ", percent(*run_.final_accuracy, 1)));
  if (run_.has_target) {
    parts.push_back(run_.time_to_target
                        ? concat("target reached after ", format_duration(*run_.time_to_target))
                        : "target not reached");
  }
  return parts.empty() ? "" : join_texts(parts) + "\n";
}

std::string Report::staleness() const {
  const Staleness all = sum_of(run_, &Journal::staleness);
  if (all.count == 0) return "";
  return concat("staleness: p50 ", all.percentile(50), ", p99 ", all.percentile(99), ", max ", all.max, "\n");
}

std::string Report::codes() const {
  double coding = 0;
  for (const std::size_t i : workers_) coding += seconds_of(waits_.ranks[i].coding);
  if (coding == 0) return "";
  return concat("codes: ", percent(coding, workers_time()),
                " of the workers' time for encoding and decoding\n");
}

std::string Report::locks() const {
  const LockWaits all = sum_of(run_, &Journal::lock_waits);
  if (all.count == 0) return "";
  return concat("waiting for locks: ", percent(seconds_of(all.total), workers_time()),
                " of the workers' time; ", all.contended, " of ", all.count, " were held\n");
}

std::string Report::fusion() const {
  for (const RankRecord& record : run_.ranks) {
    const Fusion& fusion = record.journal.fusion;
    if (fusion.bytes == 0) continue;
    const std::string tried = concat(fusion.trials.size(), fusion.trials.size() == 1 ? " trial" : " trials");
    return concat("fusion: ", bytes_text(fusion.bytes), fusion.settled ? ", the best of " : ", so far ",
                  tried, "\n");
  }
  return "";
}

std::string Report::blame() const {
  if (!waits_.most_waited_for) return no_blame();
  const Rank rank = *waits_.most_waited_for;
  const auto culprit = static_cast<std::size_t>(rank);
  const double waited = seconds_of(waits_.ranks[culprit].blame);
  if (waited <= kNotable * workers_time()) return no_blame();

  std::size_t others = 0;
  std::size_t waiting = 0;
  for (const std::size_t i : workers_) {
    if (i == culprit) continue;
    const auto& list = waits_.ranks[i].waited_for;
    ++others;
    waiting += std::any_of(list.begin(), list.end(), [rank](const WaitedFor& w) { return w.whom == rank; });
  }
  const double time = workers_time() - (run_.ranks[culprit].trains ? time_of(culprit) : 0);
  const std::string who =
      waiting == others ? "everyone waits" : concat(waiting, " of ", others, " others wait");
  return concat(who, " for ", name_of(run_, rank), ": ", percent(waited, time), " of the others' time\n");
}

std::string Report::no_blame() const {
  double waited = 0;
  for (const std::size_t i : workers_) waited += seconds_of(waits_.ranks[i].waiting);
  if (waited <= kNotable * workers_time()) return "no worker holds the others up\n";
  return concat("the workers wait ", percent(waited, workers_time()), " of their time, for many in turn\n");
}

std::string Report::unhappy_ends() const {
  std::string text;
  std::size_t count = 0;
  for (const RankRecord& record : run_.ranks) {
    if (record.ended.empty()) continue;
    if (++count <= kMostUnhappy) text += concat(name_of(run_, record.rank), ": ", record.ended, "\n");
  }
  if (count > kMostUnhappy) text += concat("and ", count - kMostUnhappy, " more that did not end well\n");
  return text;
}

}  // namespace

std::string report_text(const RunRecord& run, const WaitAnalysis& waits) { return Report(run, waits).text(); }

}  // namespace starling::record
