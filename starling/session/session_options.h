// The options of a session: plain values, the same on all ranks except where a comment says otherwise.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "starling/core/types.h"
#include "starling/membership/membership.h"
#include "starling/optim/optimizer.h"
#include "starling/record/record_plan.h"
#include "starling/session/callbacks.h"
#include "starling/strategy/gradient_check.h"
#include "starling/strategy/section.h"
#include "starling/transport/stall_limit.h"

namespace starling::session {

// The model that finish() leaves in each worker.
enum class FinalModel {
  kMean,  // the mean over the workers that live, extras included
  kOwn,   // the worker's own
};

struct SessionOptions {
  std::vector<strategy::Section> sections = {};  // they cover the model
  bool equal_batches = true;                     // all batches of all workers have the same number of samples
  bool dynamic_shares = false;  // a worker that is ready takes the next batch; else equal shares
  std::uint64_t seed = 1;

  optim::OptimizerSpec optimizer = {};
  // Why a strategy cannot update the model elsewhere as the program would. Empty: it can.
  std::string no_flat_optimizer = {};

  // The step of a worker whose gradient is not finite: kSkip, it weighs nothing, and ten in a row on one
  // worker stop the run; kStop, the first does; kApply, it is used like any other.
  strategy::NonFinite nonfinite = strategy::NonFinite::kSkip;

  // The run ends with whichever comes first. No step begins later than `until` after the common origin.
  std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();  // of each worker, those resumed included
  std::optional<Duration> until = {};

  FinalModel final_model = FinalModel::kOwn;
  // How often each worker publishes a copy of its model for Session::mean(). None: mean() is refused.
  std::optional<Duration> publish_every = {};

  bool keep_record = false;                     // for Session::collect()
  record::RecordPlan record = {};               // what it has of each rank
  bool report = false;                          // workers report their progress, for Callbacks::show
  std::optional<Duration> snapshot_every = {};  // for Callbacks::snapshot
  std::uint64_t check_sync = 0;                 // steps between two checks that all models are equal; 0: none

  std::uint64_t save_every = 0;       // steps of each worker, for Callbacks::save; 0: never
  std::optional<Resume> resume = {};  // this rank's part of a checkpoint
  bool own_models = false;            // each worker starts from its own model and extras instead of rank 0's

  // A session that joins the run it was started in fills these in.
  // Ranks of the same host end one whose engine stands still for this long; none: never.
  std::optional<Duration> stall_limit = transport::kDefaultStallLimit;
  bool end_on_loss = false;  // the loss of a worker ends the run where the strategy needs all of them
  // Workers that cannot reach enough of the others to go on wait for this long.
  Duration majority_patience = membership::Membership::kDefaultPatience;
  int workers = 1;  // ranks 0 to workers-1 train; one more serves where the service has a rank
  std::vector<int> host_of_rank = {};  // empty: all on one host
  bool equal_models = false;           // the strategy keeps all workers' models equal
};

}  // namespace starling::session
