#include "starling/strategy/local_sgd.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "starling/strategy/allreduce.h"
#include "starling/strategy/exchange.h"

namespace starling::strategy {

using collective::Reduction;

std::uint64_t adacomm_period(std::uint64_t first_period, std::uint64_t period, double first_loss,
                             double loss) {
  const double ratio = loss / first_loss;
  if (!std::isfinite(ratio) || ratio < 0) return period;  // no losses to go by, as in a replay
  const double wanted = std::ceil(static_cast<double>(first_period) * std::sqrt(ratio));
  if (wanted < static_cast<double>(period))
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  return (period + 1) / 2;
}

// The period over time; the same on all workers, since all see the same mean loss.
class LocalSgd::Period {
 public:
  explicit Period(const LocalSgd& rules) : rules_(rules), steps_(rules.period_) {}

  std::uint64_t steps() const { return steps_; }
  void note_loss(double loss) {
    losses_ += loss;
    ++count_;
  }

  // After an average.
  Task<> adapt(Worker& self, const collective::SharedGroup& everyone) {
    ++averages_;
    if (!rules_.adaptive_ || averages_ % rules_.check_ != 0) co_return;
    double loss = losses_ / static_cast<double>(count_);
    const Data one(reinterpret_cast<std::byte*>(&loss), 1, DType::kFloat64);
    co_await all_reduce(self, everyone, one, Reduction::mean(), tag_of(Channel::kLoss, averages_));
    if (first_loss_) steps_ = adacomm_period(rules_.period_, steps_, *first_loss_, loss);
    if (!first_loss_) first_loss_ = loss;
    losses_ = 0;
    count_ = 0;
  }

 private:
  const LocalSgd& rules_;
  std::uint64_t steps_;
  std::uint64_t averages_ = 0;
  double losses_ = 0;
  std::uint64_t count_ = 0;
  std::optional<double> first_loss_;
};

LocalSgd::LocalSgd(const Options& options, int)
    : algorithm_(algorithm_of(options)),
      period_(static_cast<std::uint64_t>(options.integer("period"))),
      adaptive_(options.text("adapt") == "adacomm"),
      check_(static_cast<std::uint64_t>(options.integer("check"))) {}

Task<> LocalSgd::run(Worker& self) const {
  const collective::SharedGroup everyone = self.everyone();
  Period period(*this);
  std::uint64_t alone = 0;  // steps since the last average
  while (co_await self.compute()) {
    co_await self.update();
    period.note_loss(self.loss());
    if (++alone < period.steps()) continue;
    co_await average_models(self, everyone, self.step(), algorithm_);
    co_await period.adapt(self, everyone);
    alone = 0;
  }
  // The run yields one model.
  if (alone > 0) co_await average_models(self, everyone, self.step(), algorithm_);
}

Row local_sgd_row() {
  return {
      .name = "local-sgd",
      .summary = "workers train alone for some steps, then all models are averaged",
      .options = {OptionSpec::integer("period", 10, 1, 1'000'000, "local steps between two averages"),
                  OptionSpec::choice("adapt", {"none", "adacomm"},
                                     "adacomm: shorten the period as the loss falls"),
                  OptionSpec::integer("check", 5, 1, 1'000'000, "averages between two looks at the loss")
                      .with("adapt=adacomm"),
                  algorithm_option()},
      .promises = {.lockstep = true,
                   .on_loss = OnLoss::kEnds,
                   .conserves_mean = true,
                   .staleness = "0; models differ for up to `period` steps",
                   .waits_for = "the slowest worker, every `period` steps",
                   .bytes = "2 M (n-1)/(n period) with ring or halving"},
      .make = make<LocalSgd>,
      .bytes_sent = [](const Options& options, const Shape& shape,
                       Rank rank) -> std::optional<std::uint64_t> {
        if (options.text("adapt") != "none") return {};  // depends on the losses
        const auto period = static_cast<std::uint64_t>(options.integer("period"));
        return (shape.steps + period - 1) / period *
               all_reduce_bytes(options, shape.workers, shape.elements, rank);
      },
      .variants = {{}, {{"period", "1"}}, {{"period", "7"}, {"adapt", "adacomm"}, {"check", "2"}}},
  };
}

}  // namespace starling::strategy
