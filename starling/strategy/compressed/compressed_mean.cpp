#include "starling/strategy/compressed/compressed_mean.h"

#include <algorithm>

#include "starling/core/text.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

CompressedMean::CompressedMean(Worker& self, AgreedExchange& agreed, const CompressionRules& rules,
                               const compression::Layout& layout, const std::string& name)
    : self_(self), rules_(rules) {
  if (self.workers() == 1) return;
  meant_ = self.allocate(compression::elements_of(layout));
  if (!meant_.data.ghost()) std::ranges::fill(floats(meant_.data), 0.0F);
  mean_ = make_coded_mean(self, agreed, *rules.rule, layout, name);
  self.keep(concat("codes sent", name), bytes_of(number_));
  if (rules_.feedback && !meant_.data.ghost()) self.keep(concat("not sent yet", name), meant_.data.span());
}

Task<> CompressedMean::of(Data data, double weight) {
  if (!mean_) co_return;
  ++number_;
  co_await pass_time(data);
  if (!data.ghost() && weight > 0) {
    const Stopwatch watch(self_, record::Activity::kCode);
    const std::span<float> meant = floats(meant_.data), values = floats(data);
    for (std::size_t i = 0; i < meant.size(); ++i)
      meant[i] = rules_.feedback ? meant[i] + values[i] : values[i];
  }
  co_await mean_->form(meant_.data, weight, number_, data);
}

// Where time is simulated, encoding and decoding take some.
Task<> CompressedMean::pass_time(Data data) {
  const Stopwatch watch(self_, record::Activity::kCode);
  const double passed = rules_.rule->kind->copies * 2 * static_cast<double>(data.size());
  co_await self_.pass_memory(static_cast<std::size_t>(passed));
}

}  // namespace starling::strategy
