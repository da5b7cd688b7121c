#include "cli/first_rank.h"

#include <chrono>
#include <thread>

#include "starling/core/error.h"
#include "starling/session/detected.h"

namespace starling::cli {

namespace {

constexpr auto kPatience = std::chrono::seconds(2);

}  // namespace

Rank rank_of_start() {
  const session::Variables variables = session::environment();
  try {
    if (const auto own = session::value_in(variables, "STARLING_RANK"))
      return static_cast<Rank>(parse_integer(*own, "STARLING_RANK", 0, 1 << 30));
    const auto found = session::detect(variables);
    return found ? found->rank : 0;
  } catch (const InvalidArgument&) {
    return 0;
  }
}

void let_first_rank_speak() { std::this_thread::sleep_for(kPatience); }

}  // namespace starling::cli
