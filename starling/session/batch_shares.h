// The shares of an epoch (batch_assignment.h) for the user's thread of every worker. Equal ones are computed
// on the spot; by demand, rank 0's engine gives them out.
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

#include "starling/core/types.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/runtime/task.h"
#include "starling/session/batch_assignment.h"
#include "starling/session/worker/engine_call.h"
#include "starling/transport/transport.h"

namespace starling::session {

struct ShareRequest {
  std::uint64_t epoch = 0;
  std::uint64_t batches = 0;
};

struct ShareRules {
  bool dynamic = false;  // by demand, else equal
  bool lockstep = true;  // the strategy's workers make their steps together
};

// InvalidArgument unless empty shares are possible where there may be some.
void check(const ShareRules& rules, bool equal_batches);

// The user's thread asks and waits, the engine's finds out.
class BatchShares {
 public:
  BatchShares(ShareRules rules, Rank rank, int workers)
      : rules_(rules), rank_(rank), workers_(workers), assignment_(workers, rules.lockstep) {}

  const ShareRules& rules() const { return rules_; }

  // The user's thread. Blocks where the engine has to be asked; throws what it could not do, and what it
  // ended with if it ends meanwhile. InvalidArgument if the epoch is earlier than the last one.
  Share next(runtime::LoopScheduler& loop, ShareRequest request);

  // All else is for the engine's thread. What it has to do beside the strategy, without an end of its own:
  // pass requests of the user's thread on, and on rank 0 answer those of others.
  runtime::Task<> run(transport::Transport& net);
  // One request at a time. PeerLost if rank 0 is lost, InvalidArgument if others have another number of
  // batches.
  runtime::Task<Share> ask(transport::Transport& net, ShareRequest request);
  // Rank 0: answers the other workers.
  runtime::Task<> answer_others(transport::Transport& net);
  // No request will be answered any more.
  void close(std::exception_ptr error) { call_.close(std::move(error)); }

 private:
  const ShareRules rules_;
  const Rank rank_;
  const int workers_;

  // The user's thread.
  std::uint64_t epoch_ = 0;
  std::uint64_t round_ = 0;  // requests in this epoch

  BatchAssignment assignment_;  // rank 0's engine
  EngineCall<ShareRequest, Share> call_{"shares"};
};

}  // namespace starling::session
