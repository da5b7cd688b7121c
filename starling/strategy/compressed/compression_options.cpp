#include "starling/strategy/compressed/compression_options.h"

#include <utility>

#include "starling/core/text.h"

namespace starling::strategy {

OptionSpec compression_option(std::string name, std::string_view what) {
  return OptionSpec::text(
      std::move(name), "none",
      concat(what, " as a code: topk:0.01, powersgd:2 or another kind that `starling info` lists"));
}

OptionSpec feedback_option() {
  return OptionSpec::choice(
      "feedback", {"auto", "on", "off"},
      "whether what a code leaves out is added to the next; auto: except with fp16 and bf16");
}

CompressionRules compression_rules(const Options& options, std::string_view owner, std::string_view name) {
  CompressionRules rules;
  rules.rule =
      compression::parse_rule(options.text(name), concat("strategy ", owner, ", option ", name, ":"));
  const std::string& feedback = options.text("feedback");
  rules.feedback = rules && (feedback == "on" || (feedback == "auto" && rules.rule->kind->feedback));
  return rules;
}

compression::Layout layout_of(const std::vector<Section>& sections) {
  compression::Layout layout;
  for (const Section& section : sections) {
    layout.push_back({{section.offset, section.offset + section.count}, section.rows});
  }
  return layout;
}

}  // namespace starling::strategy
