// The engine's side of a session: the thread that runs the strategy, and everything beside it. The user's
// thread (session.h) talks to it by requests, posted calls and a few atomics.
#pragma once

#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "starling/membership/membership.h"
#include "starling/runtime/event.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/session/background/background_services.h"
#include "starling/session/batch_shares.h"
#include "starling/session/session_options.h"
#include "starling/session/worker/engine_call.h"
#include "starling/session/worker/real_service.h"
#include "starling/session/worker/real_worker.h"
#include "starling/strategy/strategy.h"

namespace starling::session {

class EngineThread {
 public:
  // Starts the thread. All that the references name must outlive it.
  EngineThread(runtime::LoopScheduler& loop, transport::Transport& net, const strategy::Strategy& strategy,
               SessionOptions options, std::span<const float> initial_model, Callbacks callbacks);
  // Waits for the thread.
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  const SessionOptions& options() const { return options_; }
  const Callbacks& callbacks() const { return callbacks_; }
  runtime::LoopScheduler& loop() { return loop_; }
  // Most of it belongs to the engine's thread; real_worker.h names the exceptions.
  RealWorker& worker() { return *worker_; }
  const RealWorker& worker() const { return *worker_; }
  Rank rank() const { return net_.rank(); }

  // For the user's thread.
  UserRequests& requests() { return requests_; }
  BatchShares& shares() { return shares_; }
  // Valid once the engine has asked for the end.
  const std::exception_ptr& error() const { return error_; }
  // The mean over the living; `own` is this worker's model. Blocks.
  std::vector<float> mean(std::vector<float> own);
  // Blocks until the run is concluded or it is up to this rank to conclude it, with the records of all ranks;
  // empty the second time.
  std::vector<record::RankRecord> collect();
  // The user has what it wants of the records: the others may go.
  void release();
  // The user goes away before the end.
  void abandon();

  // From any thread.
  void stop();
  Duration elapsed() const;

 private:
  RealWorker::Parts worker_parts();
  void rest_in_callbacks();
  void keep_random();
  void make_service();
  void run();
  runtime::Task<> live();
  runtime::Task<> agree();
  void take_part(runtime::Scope& scope);
  runtime::Task<> work();
  void end(std::exception_ptr error);
  void hand_over_records();

  runtime::LoopScheduler& loop_;
  transport::Transport& net_;
  const strategy::Strategy& strategy_;
  SessionOptions options_;
  strategy::RunInfo info_;
  Callbacks callbacks_;
  UserRequests requests_;
  BatchShares shares_;
  EngineCall<std::vector<float>, std::vector<float>> mean_call_{"means"};
  CheckpointState checkpoint_state_;
  StepHooks hooks_;
  std::unique_ptr<RealWorker> worker_;
  std::optional<membership::Membership> membership_;  // none if a loss ends the run
  // Shared with stop(), whose request may reach the loop when this session is gone.
  std::shared_ptr<BackgroundServices> background_;
  std::atomic<Time> origin_ = Time(kForever);
  std::unique_ptr<RealService> service_;  // the one that runs beside this worker
  std::promise<std::vector<record::RankRecord>> records_;
  std::future<std::vector<record::RankRecord>> collected_ = records_.get_future();
  bool records_given_ = false;
  bool told_ = false;  // the user's thread knows that the run is over
  runtime::Event abandoned_{"the training program to go", runtime::Event::Kind::kRare};
  std::exception_ptr error_;
  std::thread thread_;
};

// The facts of the run that all ranks share, from its options.
strategy::RunInfo make_run_info(const SessionOptions& options, strategy::Placement service, int ranks);
// The random numbers of a rank.
Random random_stream(std::uint64_t seed, Rank rank);

}  // namespace starling::session
