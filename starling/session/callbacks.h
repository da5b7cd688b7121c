// The functions and data that a training program gives to its session.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "starling/core/partition.h"
#include "starling/core/types.h"
#include "starling/session/batch_assignment.h"

namespace starling::session {

// How far a worker is.
struct Progress {
  Rank rank = 0;
  std::uint64_t steps = 0;                                 // made, those before this run included
  std::uint64_t samples = 0;                               // of this run
  double loss = std::numeric_limits<double>::quiet_NaN();  // mean since its last status; NaN: no step since
  Duration computing{};                                    // so far, both
  Duration waiting{};                                      // for others, the bytes' time on the wire included
  bool done = false;
  bool lost = false;
};

// The mean model of the workers at a time of the run.
struct Snapshot {
  Duration time{};           // a multiple of the interval; of the final one: when the last worker ended
  std::uint64_t steps = 0;   // of all workers together
  double loss = 0;           // mean over the samples since the last snapshot; NaN if there were none
  std::vector<float> model;  // parameters, then extras
  bool final = false;        // of the workers that ended well, after all others
};

// The state that a rank saves for a checkpoint, besides the program's own: model, extras, its own optimiser,
// its position in the data.
struct Save {
  std::uint64_t step = 0;         // steps made
  std::vector<std::byte> kept;    // of the engine on this rank
  std::vector<std::byte> server;  // the coordinator: of the rank that only serves, if there is one
};

// A checkpoint that is complete.
struct Saved {
  std::uint64_t step = 0;
  Group ranks = {};  // that have written their parts, ascending. The first has the state of the server
  std::optional<SharePosition> position = {};  // with shares by demand
};

// The state that a rank continues from: its Save, or that of the first of Saved::ranks if it has none.
struct Resume {
  std::uint64_t step = 0;
  std::vector<std::byte> kept = {};
  std::vector<std::byte> server = {};  // rank 0
  bool of_another = false;             // its random numbers are then not taken from it
};

// All of it is optional. Called on the user's thread, inside Session::next(), unless it says otherwise.
struct Callbacks {
  // Applies the gradients of a step to a part of the model: the whole, or whole sections, where a strategy
  // updates section by section; then also inside Session::use(). Without it the flat optimiser of the setting
  // does.
  std::function<void(Slice part, std::uint64_t step)> update = {};
  // That `update` uses now. Without it that of the flat optimiser.
  std::function<double()> learning_rate = {};
  // Numbers beside the parameters that belong to the model and that computing a gradient changes, such as the
  // statistics of a batch normalisation. Each worker has its own; all start with rank 0's.
  std::vector<std::span<float>> extras = {};
  // Everything else that all workers take over from rank 0 at the start.
  std::vector<std::span<std::byte>> fixed = {};

  // Every `save_every` steps of the setting, while all workers rest after the same number of steps.
  std::function<void(const Save&)> save = {};
  // On the coordinator: every worker that lives has written its part.
  std::function<void(const Saved&)> saved = {};

  // All that follows is for the coordinator, the lowest worker that lives: rank 0, until it is lost.
  //
  // Twice a second if the option `report` is on, by worker; once more when all are done. On the ENGINE's
  // thread, which answers no requests meanwhile: it must return quickly, and may call nothing of the session
  // but stop() and elapsed().
  std::function<void(const std::vector<Progress>& workers)> show = {};
  // By time, if the option `snapshot_every` is set. On the ENGINE's thread, as `show`. A program that keeps
  // snapshots drops those that session/background/snapshot_average.h no longer counts: in a long run they
  // come at a doubled interval, and only multiples of it stay.
  std::function<void(Snapshot)> snapshot = {};
  // The same on the worker that follows if the coordinator is lost, to be kept until then: it gets a copy of
  // all that the coordinator is shown. On the ENGINE's thread.
  std::function<void(const std::vector<Progress>& workers)> keep_progress = {};
  std::function<void(Snapshot)> keep_snapshot = {};
};

// The extras behind what a flat model holds already: its parameters, or nothing.
inline void append_extras(std::vector<float>& model, const std::vector<std::span<float>>& extras) {
  for (const std::span<float> extra : extras) model.insert(model.end(), extra.begin(), extra.end());
}

// The elements of all extras.
inline std::size_t extra_count(const Callbacks& callbacks) {
  std::size_t count = 0;
  for (const std::span<float> extra : callbacks.extras) count += extra.size();
  return count;
}

}  // namespace starling::session
