// The options of a LibTorch program's session. Each has a default and must be the same on all workers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "starling/cluster/cluster.h"
#include "starling/core/types.h"
#include "starling/session/callbacks.h"
#include "starling/session/session_options.h"

namespace starling::join {
class RunContext;
}

namespace starling::torch {

using session::FinalModel;
using strategy::NonFinite;

struct SessionOptions {
  bool dynamic_shards = false;  // a worker that is ready takes the next batch; else all get equally many
  bool equal_batches = false;   // all batches of all workers have equally many samples: means need no weights
  std::uint64_t seed = 1;       // of the order of the data
  double clip_norm = 0;  // largest 2-norm of a step's mean gradient, which is scaled down to it; 0: any
  // A worker's step whose gradient is not finite: kSkip, it weighs nothing, and ten in a row on one worker
  // stop the run; kStop, the first does; kApply, it is used like any other.
  NonFinite nonfinite = NonFinite::kSkip;

  FinalModel final_model = FinalModel::kMean;        // what finish() leaves in each worker
  Duration publish_every = std::chrono::seconds(1);  // how old a worker's model in Session::mean() may be

  // The run also ends here; `starling launch` may set both.
  std::optional<std::uint64_t> steps = {};  // of each worker
  std::optional<Duration> max_time = {};    // no step begins later

  // Files; `starling launch` may set all of them, and then its values count. docs/runs.md describes them.
  std::string out = {};    // the folder for summary, trace, events, model, checkpoints; empty: none
  bool overwrite = false;  // the files of an earlier run in that folder are removed
  std::uint64_t checkpoint_every = 0;  // steps of each worker; needs `out`; 0: never
  std::string resume = {};             // the folder of a run whose last checkpoint this one goes on from
  record::RecordPlan record = {};      // how much `out` gets of what each rank did, and within which limit
  bool progress = false;               // a line about the progress goes to stderr every few seconds

  // The speed of another machine is emulated: the worker sleeps for the rest of each step (docs/train.md).
  std::optional<cluster::Cluster> emulate = {};
  std::optional<Duration> pace = {};  // what a step takes on a worker of speed 1; none: what it takes here

  // For programs that do more than train. The callbacks run on the ENGINE's thread of the coordinator, which
  // is the lowest worker that lives, and must return quickly; of the session they may call stop() alone.
  std::optional<Duration> snapshot_every = {};
  std::function<void(session::Snapshot)> on_snapshot = {};
  std::function<void(session::Snapshot)> on_kept_snapshot = {};  // a copy, on the worker that would follow it
  std::function<void(const std::vector<session::Progress>&, Duration elapsed)> on_progress = {};
  bool keep_record = false;      // for Session::collect()
  std::uint64_t check_sync = 0;  // steps between two checks that all workers' models are equal; 0: none
  std::string checkpoints = {};  // the folder for checkpoints; empty: "checkpoints" in `out`
  std::map<std::string, std::string> checkpoint_keys = {};  // what a run that resumes must have in common,
                                                            // besides the strategy, the workers and the model
  join::RunContext* context = nullptr;                      // the run that this process has joined already
};

}  // namespace starling::torch
