// The shares of an epoch (batch_assignment.h) for the user's thread of every worker. Equal ones are computed
// on the spot; by demand, the coordinator's engine gives them out (background/coordinator.h).
//
// When the coordinator is lost, every worker reports to the next one what it was given, a worker that waits
// for an answer when it knows that none will come. The next one answers when all living workers have
// reported.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <utility>

#include "starling/core/types.h"
#include "starling/runtime/event.h"
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
  BatchShares(ShareRules rules, Rank rank, int workers) : rules_(rules), rank_(rank), workers_(workers) {
    if (rank == 0) assignment_.emplace(workers, rules.lockstep);
  }

  const ShareRules& rules() const { return rules_; }

  // The user's thread. Blocks where the engine has to be asked; throws what it could not do, and what it
  // ended with if it ends meanwhile. InvalidArgument if the epoch is earlier than the last one.
  Share next(runtime::LoopScheduler& loop, ShareRequest request);

  // All else is for the engine's thread. What it has to do beside the strategy, without an end of its own:
  // pass requests of the user's thread on, and serve().
  runtime::Task<> run(transport::Transport& net);
  // One request at a time. InvalidArgument if others have another number of batches.
  runtime::Task<Share> ask(transport::Transport& net, ShareRequest request);
  // Answers the other workers while this one is the coordinator, and reports to one that follows another.
  runtime::Task<> serve(transport::Transport& net);
  // On the coordinator: what was given out so far. None if it does not know yet what the others were given.
  std::optional<SharePosition> position(const transport::Transport& net);
  // No request will be answered any more.
  void close(std::exception_ptr error) { call_.close(std::move(error)); }

 private:
  struct Answer;

  runtime::Task<> take_requests(transport::Transport& net);
  runtime::Task<> take_reports(transport::Transport& net);
  runtime::Task<> answer_requests(transport::Transport& net);
  runtime::Task<> watch_losses(transport::Transport& net);
  runtime::Task<> report(transport::Transport& net);
  runtime::Task<std::optional<Answer>> ask_rank(transport::Transport& net, Rank to, ShareRequest request);
  bool prepare(const transport::Transport& net);
  Answer answer_to(Rank from, const ShareRequest& request);

  const ShareRules rules_;
  const Rank rank_;
  const int workers_;

  // The user's thread.
  std::uint64_t epoch_ = 0;
  std::uint64_t round_ = 0;  // requests in this epoch

  // The engine's thread.
  ShareReport own_;
  bool asking_ = false;
  Rank reported_to_ = 0;  // which needs no report
  // On the coordinator.
  std::optional<BatchAssignment> assignment_;  // when it has all reports
  std::map<Rank, ShareReport> reports_;
  std::deque<std::pair<Rank, ShareRequest>> requests_;
  runtime::Event news_{"reports about batches", runtime::Event::Kind::kRare};
  EngineCall<ShareRequest, Share> call_{"shares"};
};

}  // namespace starling::session
