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
// otherwise; those of a section that was asked for in the step before are the user's from use() on, and all
// are the engine's again from section_ready() on. Updates run on the user's thread, inside next() and use(),
// or on the engine's, as the strategy wants. A strategy that exchanges while the user computes reads the
// parameters and writes only buffers of its own.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <thread>

#include "starling/join/run_context.h"
#include "starling/runtime/event.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/session/background/background_services.h"
#include "starling/session/background/model_equality_check.h"
#include "starling/session/batch_shares.h"
#include "starling/session/worker/callbacks.h"
#include "starling/session/worker/real_service.h"
#include "starling/session/worker/real_worker.h"
#include "starling/strategy/strategy.h"

namespace starling::session {

class Session {
 public:
  struct Options : BackgroundServices::Options {
    int workers = 1;                // ranks 0 to workers-1 train; one rank more where the service has its own
    std::vector<int> host_of_rank;  // empty: all on one host, or each on its own where links are emulated
    optim::OptimizerSpec optimizer;
    std::string
        no_flat_optimizer;  // why a strategy cannot update elsewhere as the program would; empty: it can
    std::uint64_t seed = 1;
    RealWorker::Options worker;    // its sections must cover the model
    bool dynamic_shares = false;   // of an epoch, by demand; else equal
    std::uint64_t check_sync = 0;  // steps between two looks whether all models are equal; 0: none
  };

  // Takes over the loop and the transport, which must outlive it: nobody else may use them any more. Rank 0's
  // `initial_model` becomes everybody's; the others' are not looked at.
  Session(runtime::LoopScheduler& loop, transport::Transport& net, const strategy::Strategy& strategy,
          Options setting, std::span<const float> initial_model, Callbacks callbacks = {});
  // The same in the run that this process was started in.
  Session(join::RunContext& context, Options setting, std::span<const float> initial_model,
          Callbacks callbacks = {});
  // Ends what still runs: to the others this rank is done if the run is over, else it is lost.
  ~Session();

  std::span<float> parameters();
  std::span<float> gradients();

  // Waits until the strategy wants a gradient. False when the run is over. Throws what the strategy threw.
  bool next();

  // Between next() and computed(): the step that the batch is of, counted from 1.
  std::uint64_t step() const { return step_; }

  // Between next() and computed(): what to compute, of an epoch of so many batches, the same on all workers.
  // Each call takes a share. May wait for rank 0; throws PeerLost if that is lost, and what the engine threw.
  Share next_share(std::uint64_t epoch, std::uint64_t batches);

  // Between next() and computed(), all optional. In the forward pass: it is about to use the parameters of
  // these sections. Waits until they are those of this step; a strategy that updates a model while the next
  // forward pass goes on completes before next() returns what was not asked for in the step before. Error
  // from section_ready() if a section was asked for in one step, and in the next used without.
  void use(Slice sections);
  // Before the backward pass, how many samples the batch has, and during it, that a section's gradient is
  // complete and will not be touched any more. Strategies that send gradients during the backward pass then
  // do; with unequal batches they need both. Sections that were not told of count as complete with
  // computed().
  void expect(std::size_t samples);
  void section_ready(std::size_t section);
  // The gradient of the batch is there.
  void computed(Batch batch);
  // There are no more data: the strategy ends after what it has. Throws what it threw.
  void finish();

  // Between next() and computed(): waits until the whole model is that of this step, as it must be to
  // evaluate or save it.
  void flush();
  // Between next() and computed(): whether the parameters of the section are those of this step, and its
  // gradient may be written.
  bool usable(std::size_t section) const { return worker_->through(section); }

  // Asks for the end of the run: nobody begins a further step, except those who are behind where workers make
  // equally many. From any thread.
  void stop();
  // Since the common origin: the instant at which all ranks had agreed and began. 0 before. From any thread.
  Duration elapsed() const;

  // Of the steps from here on; only where the program brings no update of its own. Before the backward pass.
  void set_learning_rate(double rate) { learning_rate_ = rate; }

  // When the run is over.
  record::Journal& journal() { return worker_->journal(); }
  // Rank 0, when the run is over: waits until it is for all, and returns the records of all ranks, once. Who
  // is lost is among them with what is known. Empty on other ranks and if no record is kept. The spans are no
  // longer in journal().
  std::vector<record::RankRecord> collect();

 private:
  runtime::Task<> live();
  runtime::Task<> work();
  void run_engine();
  void end(std::exception_ptr error);
  void hand_over_records();
  void make_service();
  void serve(const UserRequest& request);
  void apply(const UserRequest& request);
  void clear_gradients();
  void wait_for(Slice sections);
  double learning_rate() const {
    return callbacks_.learning_rate ? callbacks_.learning_rate() : learning_rate_;
  }

  runtime::LoopScheduler& loop_;
  transport::Transport& net_;
  const strategy::Strategy& strategy_;
  Options setting_;
  strategy::RunInfo info_;
  Callbacks callbacks_;
  UserRequests requests_;
  BatchState batch_;
  BatchShares shares_;
  CheckpointState checkpoint_state_;
  std::unique_ptr<RealWorker> worker_;
  // Shared with stop(), whose wish may come to the loop when this session is no more.
  std::shared_ptr<BackgroundServices> background_;
  std::atomic<Time> origin_ = Time(kForever);
  std::unique_ptr<RealService> service_;  // that runs beside this worker
  std::promise<std::vector<record::RankRecord>> records_;
  std::future<std::vector<record::RankRecord>> collected_ = records_.get_future();
  bool records_given_ = false;  // the engine's thread
  std::optional<ModelEqualityCheck> equality_check_;
  std::uint64_t step_ = 0;
  std::uint64_t updated_step_ = 0;
  double learning_rate_ = 0;
  bool over_ = false;
  bool told_ = false;  // the engine's thread: that it is over
  runtime::Event abandoned_{"the training program to go", runtime::Event::Kind::kRare};
  std::exception_ptr error_;  // of the engine; read after it said that it is over
  std::thread engine_;
};

// The setting as it is in the run that a process was started in: its workers and, unless given, its hosts.
Session::Options in_run(const join::RunEnvironment& environment, Session::Options setting);

// A rank that only serves: returns when all workers are done.
void serve(transport::Transport& net, const strategy::Strategy& strategy, const Session::Options& setting);
void serve(join::RunContext& context, Session::Options setting);

}  // namespace starling::session
