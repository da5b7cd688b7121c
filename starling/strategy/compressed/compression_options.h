// The options of strategies that can send codes instead of vectors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/compression/registry.h"
#include "starling/strategy/options.h"
#include "starling/strategy/section.h"

namespace starling::strategy {

struct CompressionRules {
  std::optional<compression::Rule> rule;  // none: vectors are sent as they are
  bool feedback = false;

  explicit operator bool() const { return rule.has_value(); }
};

// "compress", or what else it is called.
OptionSpec compression_option(std::string name, std::string_view what);
// "feedback"
OptionSpec feedback_option();

// InvalidArgument, naming the strategy and the option.
CompressionRules compression_rules(const Options& options, std::string_view owner, std::string_view name);

// The sections as compressors see them.
compression::Layout layout_of(const std::vector<Section>& sections);

}  // namespace starling::strategy
