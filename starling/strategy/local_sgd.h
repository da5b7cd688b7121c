// Local SGD (Stich, "Local SGD converges fast and communicates little", ICLR'19): every worker trains alone
// for `period` steps, then the models are averaged over all.
//
// With adapt=adacomm the period shrinks as the loss does (Wang and Joshi, "Adaptive communication strategies
// to achieve the best error-runtime trade-off", MLSys'19): after every `check` averages, with F the workers'
// mean training loss since the last check and F_0 that of the first,
//
//   tau <- ceil(tau_0 sqrt(F / F_0))  if that is less than tau,  else  ceil(tau / 2)
//
// tau_0 is the option `period`; some versions search for it by trial runs first, which this one does not.
//
// With an outer optimiser the mean is not the next model but the gradient for a step of the common model
// (outer_optimizer.h), and the model may be exchanged in fragments, beside the computing
// (fragment_average.h).
//
// A round takes max_i (sum of i's step times) + t_ar: jitter averages out over a period, a steady straggler
// does not. With period-by=speed slow workers make fewer steps in a round (round_length.h), and every worker
// counts the same in the mean, as in DiLoCo: the changes of a fast one are larger as it is. Bytes sent per
// worker and step: 2 M (n-1)/(n tau) with ring or halving.
#pragma once

#include "starling/strategy/agreed_exchange.h"
#include "starling/strategy/averaging/fragment_average.h"
#include "starling/strategy/averaging/round_length.h"
#include "starling/strategy/batch/balance.h"
#include "starling/strategy/registry.h"

namespace starling::strategy {

class LocalSgd final : public Strategy {
 public:
  LocalSgd(const Options& options, int workers);
  Task<> run(Worker& self) const override;
  bool lockstep() const override { return !by_speed_; }
  bool equal_batches() const override { return !balance_.by_speed; }

 private:
  struct Progress;
  struct Parts;

  Task<> rounds_by_steps(Parts& parts) const;
  Task<> rounds_by_speed(Parts& parts) const;
  Task<RoundLength::Next> own_steps(Parts& parts, RoundLength& length) const;
  Task<> update(Parts& parts) const;
  Task<> adapt(Parts& parts) const;
  collective::Reduction mean_by(double samples) const;

  std::uint64_t window(std::uint64_t period) const { return period / rules_.fragments; }

  FragmentRules rules_;
  std::uint64_t period_;
  bool adaptive_;
  std::uint64_t check_;
  bool by_speed_;
  BalanceRules balance_;
};

// The rule above for one check.
std::uint64_t adacomm_period(std::uint64_t first_period, std::uint64_t period, double first_loss,
                             double loss);

StrategyEntry local_sgd_row();

}  // namespace starling::strategy
