#include "cli/bench/other_load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace starling::cli {
namespace {

std::optional<CoreSeconds> core_seconds_now() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  return core_seconds(line, static_cast<double>(sysconf(_SC_CLK_TCK)));
}

double own_seconds() {
  double seconds = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    }
  }
  return seconds;
}

}  // namespace

std::optional<CoreSeconds> core_seconds(std::string_view proc_stat, double ticks_per_second) {
  // user, nice, system, idle, iowait, irq, softirq, steal; what follows is contained in the first two.
  constexpr std::size_t kIdle = 3, kInputOutput = 4, kFields = 8;
  std::istringstream in{std::string(proc_stat)};
  std::string name;
  if (!(in >> name) || name != "cpu") return std::nullopt;
  CoreSeconds seconds;
  for (std::size_t field = 0; field < kFields; ++field) {
    double ticks = 0;
    if (!(in >> ticks)) return std::nullopt;
    seconds.all += ticks / ticks_per_second;
    if (field != kIdle && field != kInputOutput) seconds.busy += ticks / ticks_per_second;
  }
  return seconds;
}

OtherLoad::OtherLoad() : begin_(core_seconds_now()), own_begin_(own_seconds()) {}

std::optional<double> OtherLoad::share() const {
  const std::optional<CoreSeconds> now = core_seconds_now();
  if (!now || !begin_ || now->all <= begin_->all) return std::nullopt;
  const double others = now->busy - begin_->busy - (own_seconds() - own_begin_);
  return std::clamp(others / (now->all - begin_->all), 0.0, 1.0);
}

}  // namespace starling::cli
