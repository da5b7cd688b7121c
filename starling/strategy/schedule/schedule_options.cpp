#include "starling/strategy/schedule/schedule_options.h"

namespace starling::strategy {

OptionSpec fusion_option(std::string help) {
  return OptionSpec::size_or("fusion", {"default", "auto"}, std::move(help));
}

OptionSpec window_option() {
  return OptionSpec::integer("window", 1, 1, 64, "transfers that are under way at once");
}

BucketSizeOptions fusion_of(const Options& options, std::size_t fallback) {
  BucketSizeOptions setting;
  setting.tuned = options.text("fusion") == "auto";
  setting.bytes = options.size("fusion").value_or(fallback);
  return setting;
}

}  // namespace starling::strategy
