// Elastic averaging SGD (Zhang, Choromanska and LeCun, "Deep learning with elastic averaging SGD", NIPS'15;
// You, Buluc and Demmel, "Scaling deep learning on GPU and Knights Landing clusters", SC'17): workers train
// models of their own, and a centre and these models pull each other. Every `period` steps worker i exchanges
// with the centre c, alpha saying how strongly they pull:
//
//   d = alpha (x_i - c);   x_i <- x_i - eta g_i - d;   c <- c + d
//
//   async        An exchange takes place when its worker wants it, whatever the others do.
//   round-robin  The same in the order of ranks: the original EASGD.
//   sync         All exchange at once: c <- c + sum_i d_i (centre/replicated_centre.h). Deterministic.
//
// The step -eta g_i is one of the worker's own optimiser. With momentum it is MEASGD:
//   v_i <- mu v_i - eta g_i;   x_i <- x_i + v_i - d
//
// With overlap the exchange goes on while g_i is computed, and d is that of the models before the step, as in
// SC'17. Without, it follows the step, and works on its result.
//
// EA-wild (Rethinking the value of asynchronous solvers for distributed deep learning, HPC Asia 2020) is
// `async` without any lock, as Hogwild (centre/shared_model.h). Where another rank serves the centre there is
// no lock in `async` either, and the two are the same.
//
// alpha = beta / n with beta = 0.9 by default. On a quadratic with curvature h and a = eta h, `async` is
// stable for 0 < a < 2 and alpha < (4 - 2a) / (4 - a) in any order of arrival; `sync` exactly for 0 < a < 2,
// n alpha < 2 and alpha < (2 - a)(2 - n alpha) / 2.
//
// A worker that dies leaves the centre as it is. The run's model is the mean of the workers' models, as with
// every strategy; the centre is part of checkpoints.
#pragma once

#include "starling/strategy/centre/centre.h"
#include "starling/strategy/registry.h"

namespace starling::strategy {

class Easgd final : public Strategy {
 public:
  enum class Place { kAuto, kShared, kSharded, kServer, kReplicated };

  struct Rules {
    Place place = Place::kAuto;  // kAuto: shared if all workers have common memory, else sharded
    CentreOrder order = CentreOrder::kAnyTime;
    bool locked = true;
    std::uint64_t period = 1;
    std::optional<bool> overlap;  // none: unless the centre is in common memory
    std::optional<double> alpha;  // none: rho, and without that 0.9 / n
    std::optional<double> rho;    // alpha is the learning rate times this
    collective::Choice algorithm;
  };

  // `name` for messages.
  Easgd(std::string name, Rules rules, Placement server)
      : name_(std::move(name)), rules_(rules), server_(server) {}

  Task<> run(Worker& self) const override;
  bool lockstep() const override { return rules_.place == Place::kReplicated; }
  Placement service() const override { return rules_.place == Place::kServer ? server_ : Placement::kNone; }
  Task<> serve(Member& self) const override;

 private:
  Place place_for(Worker& self) const;
  Task<std::unique_ptr<Centre>> open_centre(Worker& self, Place place,
                                            const std::optional<Time>& computed) const;

  std::string name_;
  Rules rules_;
  Placement server_;
};

StrategyEntry easgd_row();
StrategyEntry ea_wild_row();

}  // namespace starling::strategy
