#include "starling/strategy/compressed/low_rank_mean.h"

#include <algorithm>

#include "starling/core/text.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

namespace {

constexpr std::uint64_t kSeedOfStart = 0x70777273;
constexpr double kNoWeightOfFactors = 1e-30;

}  // namespace

LowRankMean::LowRankMean(Worker& self, AgreedExchange& agreed, const compression::Rule& rule,
                         const compression::Layout& layout, const std::string& name)
    : self_(self),
      agreed_(agreed),
      factors_(layout, compression::rank_of(rule.parameters), kSeedOfStart),
      left_(self.allocate(factors_.left_count())),
      right_(self.allocate(factors_.right_count())),
      own_right_(self.allocate(factors_.right_count())) {
  if (left_.data.ghost() || factors_.right_count() == 0) return;
  self.keep(concat("factors", name), std::as_writable_bytes(factors_.state()));
}

Task<> LowRankMean::form(Data meant, double weight, std::uint64_t number, Data mean) {
  const bool ghost = mean.ghost();
  const auto how = collective::Reduction::weighted_mean(std::max(weight, kNoWeightOfFactors));
  if (!ghost) {
    const Stopwatch watch(self_, record::Activity::kCode);
    factors_.make_left(floats(meant), floats(left_.data));
    if (weight == 0) std::ranges::fill(floats(left_.data), 0.0F);
  }
  co_await agreed_.noted_all_reduce(Channel::kCodes, 2 * number, left_.data, how);
  if (right_.data.count > 0) {
    if (!ghost) {
      const Stopwatch watch(self_, record::Activity::kCode);
      factors_.orthonormalise_left(floats(left_.data));
      factors_.make_right(floats(meant), floats(left_.data), floats(right_.data));
      if (weight == 0) std::ranges::fill(floats(right_.data), 0.0F);
      copy(right_.data, own_right_.data);
    }
    co_await agreed_.noted_all_reduce(Channel::kCodes, 2 * number + 1, right_.data, how);
  }
  if (!ghost) take_up(meant, weight, mean);
}

void LowRankMean::take_up(Data meant, double weight, Data mean) {
  const Stopwatch watch(self_, record::Activity::kCode);
  const std::span<const float> left = floats(left_.data);
  std::ranges::fill(floats(mean), 0.0F);
  factors_.expand(left, floats(right_.data), 1, floats(mean));
  factors_.start_from(floats(right_.data));
  if (weight == 0) return;
  factors_.expand(left, floats(own_right_.data), -1, floats(meant));
  factors_.clear_plain(floats(meant));
}

}  // namespace starling::strategy
