#include "cli/common/rank0_errors.h"

#include <chrono>
#include <thread>

#include "starling/core/error.h"
#include "starling/join/launcher_detection.h"

namespace starling::cli {

namespace {

constexpr auto kHeadStart = std::chrono::seconds(2);

}  // namespace

Rank rank_of_start() {
  const join::EnvironmentVariables variables = join::process_environment();
  try {
    if (const auto own = join::value_in(variables, "STARLING_RANK"))
      return static_cast<Rank>(parse_integer(*own, "STARLING_RANK", 0, 1 << 30));
    const auto found = join::detect_launcher(variables);
    return found ? found->rank : 0;
  } catch (const InvalidArgument&) {
    return 0;
  }
}

void let_first_rank_speak() { std::this_thread::sleep_for(kHeadStart); }

}  // namespace starling::cli
