// How much other programs disturb a benchmark.
#pragma once

#include <optional>
#include <string_view>

namespace starling::cli {

// Seconds that the cores of the machine were busy since it started, steal time of a virtual machine included,
// and seconds that they were there, from the text of /proc/stat. None if it does not begin as it should.
struct CoreSeconds {
  double busy = 0;
  double all = 0;
};
std::optional<CoreSeconds> core_seconds(std::string_view proc_stat, double ticks_per_second);

// Measures from its construction on.
class OtherLoad {
 public:
  OtherLoad();
  // The part of all cores that was used by others than this process and those of its children that ended.
  // None where the system does not tell.
  std::optional<double> share() const;

 private:
  std::optional<CoreSeconds> begin_;
  double own_begin_;
};

}  // namespace starling::cli
