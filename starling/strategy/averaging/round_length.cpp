#include "starling/strategy/averaging/round_length.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

using collective::Reduction;

namespace {

constexpr double kTolerance = 0.1;        // of a step
constexpr std::uint64_t kFirstPart = 10;  // of the steps of a round, in the first

// Not 0: the workers whose models have changed may be lost before the average. A power of two, so that
// weighing does not round.
constexpr double kIdleWeight = 0x1p-64;

}  // namespace

std::uint64_t steps_in_round(std::uint64_t fastest_steps, double speed_share) {
  if (!(speed_share < 1)) return fastest_steps;
  const double steps = std::floor(static_cast<double>(fastest_steps) * speed_share + kTolerance);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(steps), 1, fastest_steps);
}

RoundLength::RoundLength(Worker& self, AgreedExchange& agreed, std::size_t parts)
    : self_(self), agreed_(agreed), parts_(parts), computed_before_(self.journal().computing) {
  self.keep("round length", bytes_of(pace_));
}

std::uint64_t RoundLength::steps(std::uint64_t fastest_steps) const {
  if (pace_.rounds == 0) return (fastest_steps + kFirstPart - 1) / kFirstPart;
  return steps_in_round(fastest_steps, pace_.share);
}

void RoundLength::count_step(Duration updating) {
  ++made_;
  updating_ += updating;
}

void RoundLength::measure() {
  const Duration computed = self_.journal().computing;
  if (made_ > 0) {
    pace_.idle_rounds = 0;
    pace_.speed = static_cast<double>(made_) / seconds_of(computed - computed_before_ + updating_);
  } else {
    ++pace_.idle_rounds;
  }
  made_ = 0;
  updating_ = {};
  computed_before_ = computed;
}

Task<RoundLength::End> RoundLength::meet(Next next) {
  measure();
  const bool over = next == Next::kOver;
  const bool changed = pace_.idle_rounds < parts_;
  const auto number = [](bool yes) { return yes ? 1.0 : 0.0; };
  std::array<double, 5> most = {over ? 0 : pace_.speed, number(next == Next::kSteps), number(!over),
                                number(changed), number(!changed)};
  const Data data{std::span<double>(most)};
  co_await agreed_.noted_all_reduce(Channel::kPace, ++pace_.rounds, data, Reduction::max());
  pace_.share = pace_.speed / most[0];
  co_return End{
      .anyone_steps = most[1] > 0, .all_over = most[2] == 0, .changed = most[3] > 0, .idle = most[4] > 0};
}

Reduction RoundLength::mean(const End& end) const {
  if (!end.idle || !end.changed) return Reduction::mean();
  return Reduction::weighted_mean(pace_.idle_rounds < parts_ ? 1 : kIdleWeight);
}

}  // namespace starling::strategy
