#include "starling/strategy/noloco.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "starling/core/error.h"
#include "starling/core/random.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {
namespace {

// The same in all runs, so that all workers know it.
constexpr std::uint64_t kPairSeed = 0x6e6f6c6f636f;

// A worker's slow model with its momentum, and room for those of its partner.
class SlowModel {
 public:
  explicit SlowModel(Worker& self)
      : self_(self),
        slow_(self.initial_model()),
        momentum_(self.allocate(slow_.data.count)),
        other_model_(self.allocate(slow_.data.count)),
        other_slow_(self.allocate(slow_.data.count)) {
    if (slow_.data.ghost()) return;
    std::ranges::fill(floats(momentum_.data), 0.0F);
    self.keep("slow model", slow_.data.span());
    self.keep("slow momentum", momentum_.data.span());
  }

  // False: the partner is lost.
  Task<bool> swap(Rank partner, std::uint64_t round) {
    const Tag models = tag_of(Channel::kModel, 2 * round);
    const Tag slow_models = tag_of(Channel::kModel, 2 * round + 1);
    const Stopwatch watch(self_, record::Activity::kWait, partner);
    try {
      transport::Receiving model(self_.net(), partner, models, other_model_.data.span());
      transport::Receiving slow(self_.net(), partner, slow_models, other_slow_.data.span());
      transport::Sending own_model(self_.net(), partner, models, self_.parameters().span());
      transport::Sending own_slow(self_.net(), partner, slow_models, slow_.data.span());
      co_await model;
      co_await slow;
      co_await own_model;
      co_await own_slow;
    } catch (const PeerLost&) {
      co_return false;
    }
    co_return true;
  }

  void step(const Noloco::Rule& rule, bool with_partner) {
    if (slow_.data.ghost()) return;
    const Stopwatch watch(self_, record::Activity::kUpdate);
    const SlowPair<float> own{floats(self_.parameters()), floats(slow_.data)};
    const SlowPair<const float> other{floats(other_model_.data), floats(other_slow_.data)};
    noloco_step(rule, floats(momentum_.data), own,
                with_partner ? other : SlowPair<const float>{own.model, own.slow});
  }

 private:
  Worker& self_;
  Buffer slow_;
  Buffer momentum_;
  Buffer other_model_;
  Buffer other_slow_;
};

// Part of checkpoints.
struct Progress {
  std::uint64_t alone = 0;  // steps since the last exchange
  std::uint64_t round = 0;
};

}  // namespace

std::optional<Rank> noloco_partner(std::uint64_t round, Rank rank, int workers) {
  std::vector<Rank> order(static_cast<std::size_t>(workers));
  std::iota(order.begin(), order.end(), 0);
  Random random = Random(kPairSeed).fork(round);
  random.shuffle(order);
  const auto place = static_cast<std::size_t>(std::ranges::find(order, rank) - order.begin());
  const std::size_t other = place ^ 1U;
  if (other >= order.size()) return {};
  return order[other];
}

void noloco_step(const Noloco::Rule& rule, std::span<float> momentum, const SlowPair<float>& own,
                 const SlowPair<const float>& other) {
  const auto rate = static_cast<float>(rule.rate), kept = static_cast<float>(rule.momentum);
  for (std::size_t i = 0; i < momentum.size(); ++i) {
    const float slow = own.slow[i];
    const float change = ((own.model[i] - slow) + (other.model[i] - other.slow[i])) / 2;
    const float distance = (other.slow[i] - slow) / 2;
    momentum[i] = kept * momentum[i] + rate * (change + distance);
    own.slow[i] = own.model[i] = slow + momentum[i];
  }
}

Noloco::Noloco(const Options& options, int)
    : period_(static_cast<std::uint64_t>(options.integer("period"))),
      rule_{.rate = options.number("outer-lr"), .momentum = options.number("outer-momentum")} {}

Task<> Noloco::run(Worker& self) const {
  SlowModel slow(self);
  Progress now;
  self.keep("noloco", bytes_of(now));
  while (co_await self.compute()) {
    if (self.samples() > 0) co_await self.update();
    if (++now.alone < period_) continue;
    now.alone = 0;
    const std::optional<Rank> partner = noloco_partner(++now.round, self.rank(), self.workers());
    bool met = false;
    if (partner) met = co_await slow.swap(*partner, now.round);
    slow.step(rule_, met);
  }
}

StrategyEntry noloco_row() {
  return {
      .name = "noloco",
      .summary = "workers train alone for some steps, then make an outer step with a random partner",
      .options = {OptionSpec::integer("period", 50, 1, 1'000'000, "local steps between two exchanges"),
                  OptionSpec::number("outer-lr", "0.7", 0, 10, "learning rate of the outer step"),
                  OptionSpec::number("outer-momentum", "0.5", 0, 0.9999, "momentum of the outer step")},
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .staleness = "0; models differ",
                   .waits_for = "its partner, every `period` steps",
                   .bytes = "2 M / period"},
      .make = make<Noloco>,
      .bytes_sent = [](const Options& options, const Shape& shape,
                       Rank rank) -> std::optional<std::uint64_t> {
        const std::uint64_t rounds = shape.steps / static_cast<std::uint64_t>(options.integer("period"));
        std::uint64_t met = 0;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
          if (noloco_partner(round, rank, shape.workers)) ++met;
        }
        return met * 2 * shape.elements * sizeof(float);
      },
      .moves_models = [](const Options&) { return true; },
      .variants = {{{"period", "1"}}, {{"period", "4"}}},
  };
}

}  // namespace starling::strategy
