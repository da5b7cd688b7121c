// Training on real processes, for programs that compute their own gradients: the user's thread computes, the
// engine's thread runs the strategy.
//
//   Session session(loop, net, *strategy, setting);
//   while (session.next()) {                             // updates happen in here
//     double loss = my_gradient(session.parameters(), session.gradients());
//     session.computed({.samples = 32, .loss = loss});
//   }
//
// Threading rule: parameters and gradients are the user's between next() and computed(), and the engine's
// otherwise. Updates run on the user's thread, inside next(). A strategy that exchanges while the user
// computes reads the parameters and writes only buffers of its own.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <thread>

#include "starling/runtime/event.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/session/membership.h"
#include "starling/session/real_worker.h"
#include "starling/strategy/strategy.h"

namespace starling::session {

class Session {
 public:
  struct Setting {
    int workers = 1;                // ranks 0 to workers-1 train; one rank more where the service has its own
    std::vector<int> host_of_rank;  // empty: all on one host
    optim::OptimizerSpec optimizer;
    std::uint64_t seed = 1;
    RealWorker::Setting worker;  // its sections must cover the model
  };

  // Applies the gradients to a part of the model, on the user's thread. Without one the flat optimiser of the
  // setting does it.
  using Update = std::function<void(Slice part)>;

  // Takes over the loop and the transport, which must outlive it: nobody else may use them any more. Rank 0's
  // `initial_model` becomes everybody's; the others' are not looked at.
  Session(runtime::LoopScheduler& loop, transport::Transport& net, const strategy::Strategy& strategy,
          Setting setting, std::span<const float> initial_model, Update update = {});
  // The same in the run that this process was started in.
  Session(Membership& membership, Setting setting, std::span<const float> initial_model, Update update = {});
  // Ends what still runs: to the others this rank is done if the run is over, else it is lost.
  ~Session();

  std::span<float> parameters();
  std::span<float> gradients();

  // Waits until the strategy wants a gradient. False when the run is over. Throws what the strategy threw.
  bool next();
  // The gradient of the batch is there.
  void computed(Batch batch);
  // There are no more data: the strategy ends after what it has. Throws what it threw.
  void finish();

  // When the run is over.
  record::Journal& journal() { return worker_->journal(); }

 private:
  runtime::Task<> live();
  runtime::Task<> work();
  void run_engine();
  void end(std::exception_ptr error);
  void apply(const Errand& errand);

  runtime::LoopScheduler& loop_;
  transport::Transport& net_;
  const strategy::Strategy& strategy_;
  Setting setting_;
  strategy::Place place_;
  Update update_;
  Errands errands_;
  std::unique_ptr<RealWorker> worker_;
  std::unique_ptr<optim::Optimizer> optimizer_;  // none if the user updates
  std::uint64_t updated_step_ = 0;
  bool over_ = false;
  bool told_ = false;  // the engine's thread: that it is over
  runtime::Event abandoned_{"the training program to go"};
  std::exception_ptr error_;  // of the engine; read after it said that it is over
  std::thread engine_;
};

// A rank that only serves: returns when all workers are done.
void serve(transport::Transport& net, const strategy::Strategy& strategy, const Session::Setting& setting);
void serve(Membership& membership, Session::Setting setting);

}  // namespace starling::session
