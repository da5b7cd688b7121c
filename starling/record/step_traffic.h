// The largest number of bytes that a worker gave to the transport during one step, that is, from the
// beginning of a step to that of the next. An exchange after the last step is not counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace starling::record {

class StepTraffic {
 public:
  // A step begins; so many bytes have been sent in the run so far.
  void step_begins(std::uint64_t bytes) {
    if (before_) peak_bytes = std::max(peak_bytes, bytes - *before_);
    before_ = bytes;
  }

  std::uint64_t peak_bytes = 0;

 private:
  std::optional<std::uint64_t> before_;
};

}  // namespace starling::record
