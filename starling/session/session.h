// Training on real processes, for programs that compute their own gradients: the user's thread computes, the
// engine's thread runs the strategy.
//
//   Session session(context, options, initial_model);
//   while (session.next()) {                             // updates happen in here
//     double loss = my_gradient(session.parameters(), session.gradients());
//     session.computed({.samples = 32, .loss = loss});
//   }
//
// Threading rule: parameters and gradients are the user's between next() and computed(), and the engine's
// otherwise. A section that the program asked for in the step before is the user's from use() on. All
// sections are the engine's again from section_ready() on. Updates run on the user's thread, inside next()
// and use(), or on the engine's, as the strategy wants. A strategy that exchanges while the user computes
// reads the parameters and writes only buffers of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "starling/core/partition.h"
#include "starling/core/types.h"
#include "starling/record/run_record.h"
#include "starling/session/batch_assignment.h"
#include "starling/session/batch_state.h"
#include "starling/session/session_options.h"
#include "starling/strategy/batch/portion.h"

namespace starling {
namespace runtime {
class LoopScheduler;
}
namespace transport {
class Transport;
}
namespace strategy {
class Strategy;
}
namespace join {
class RunContext;
struct RunEnvironment;
}  // namespace join
}  // namespace starling

namespace starling::session {

class EngineThread;
struct UserRequest;

class Session {
 public:
  using Options = SessionOptions;

  // Takes over the loop and the transport, which must outlive it: nobody else may use them any more. Rank 0's
  // `initial_model` becomes everybody's; the others' are not looked at.
  Session(runtime::LoopScheduler& loop, transport::Transport& net, const strategy::Strategy& strategy,
          SessionOptions options, std::span<const float> initial_model, Callbacks callbacks = {});
  // The same in the run that this process was started in.
  Session(join::RunContext& context, SessionOptions options, std::span<const float> initial_model,
          Callbacks callbacks = {});
  // Ends what still runs. To the others this rank is done if the run is over; otherwise, and if an exception
  // ends it, it is lost.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::span<float> parameters();
  std::span<float> gradients();

  // Waits until the strategy wants a gradient. False when the run is over. Throws what the strategy threw,
  // and membership::Excluded if the others went on without this worker.
  bool next();
  // Between next() and computed(): the step that the batch belongs to, counted from 1.
  std::uint64_t step() const { return step_; }
  // The same: whether the batch that was computed last has to be computed again. The strategy cut off the
  // step while it was computed, and has not used it.
  bool again() const { return again_; }
  // The same: this worker's part of the global batch, which consists of the shares of all workers with the
  // same number; none: its share. Then batches must not be declared to be equal.
  std::optional<strategy::Portion> portion() const { return portion_; }
  // The same: how many pieces the strategy wants to be computed as one. Batch::pieces says how many they
  // were.
  int together() const { return together_; }
  // The same: how long ago the strategy let this worker go on after its last batch, with an update or with
  // the next batch. On a machine with more workers than cores the program gets to run later than that.
  Duration free_for() const;
  // Between next() and computed(): what to compute, in an epoch of so many batches, the same on all workers.
  // Each call takes a share. May wait for the coordinator; throws what the engine threw.
  Share next_share(std::uint64_t epoch, std::uint64_t batches);

  // The following calls are optional, between next() and computed().
  //
  // The forward pass is about to use the parameters of these sections: waits until they are those of this
  // step. A strategy that updates a model during the next forward pass completes, before next() returns,
  // every section that was not asked for in the step before. So a program that asks for a section in one step
  // must do so in every later step that uses it; otherwise section_ready() throws.
  void use(Slice sections);
  // Before the backward pass, how many samples the batch has, and during it, that a section's gradient is
  // complete and will not be touched any more. Strategies that send gradients during the backward pass then
  // do; with unequal batches they need both. All other sections count as complete with computed().
  void expect(std::size_t samples);
  void section_ready(std::size_t section);
  // Waits until the whole model is that of this step, as it must be to evaluate or save it.
  void flush();
  // Whether the parameters of the section are those of this step, and its gradient may be written.
  bool usable(std::size_t section) const;
  // The mean over the workers that live, parameters then extras, for an evaluation or a file. The training
  // goes on as it was. Any worker may call it at any time. This worker contributes its model of now, the
  // others the copies that they published last (SessionOptions::publish_every). InvalidArgument if they do
  // not publish.
  std::vector<float> mean();

  // The gradient of the batch is complete.
  void computed(Batch batch);
  // There are no more data: the strategy ends after what it has. The model is then what
  // SessionOptions::final_model says; the mean waits for every worker that lives. Throws what the strategy
  // threw.
  void finish();

  // Asks for the end of the run: nobody begins a further step, except workers that are behind where all make
  // the same number. From any thread.
  void stop();
  // Since the common origin: the instant at which all ranks had agreed and began. 0 before. From any thread.
  Duration elapsed() const;

  // For the steps from here on; only where the program brings no update of its own. Before the backward pass.
  void set_learning_rate(double rate) { learning_rate_ = rate; }

  // When the run is over.
  record::Journal& journal();
  // When the run is over. On the coordinator, the lowest worker that lives: waits until the run is over for
  // all, and returns the records of all ranks, once. A lost rank is among them with what is known of it.
  // Empty if no record is kept. On the others: waits until the coordinator has called release(), and returns
  // nothing; but if the coordinator is lost before, the next one gets the records. So whoever gets them has
  // to write the files of the run. The spans are no longer in journal().
  std::vector<record::RankRecord> collect();
  // The records have been dealt with, and the others may go. The destructor does it too, unless an exception
  // ends the session.
  void release();

 private:
  void fulfil(const UserRequest& request);
  void apply(const UserRequest& request);
  void clear_gradients();
  void wait_for(Slice sections);
  double learning_rate() const;

  BatchState batch_;
  std::uint64_t step_ = 0;
  bool again_ = false;
  std::optional<strategy::Portion> portion_;
  int together_ = 1;
  std::uint64_t updated_step_ = 0;
  double learning_rate_ = 0;
  std::optional<std::chrono::steady_clock::time_point> asked_;  // since the last batch; not about a call
  bool over_ = false;
  int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<EngineThread> engine_;  // goes first: it uses what the user's thread has
};

// The options as they are in the run that a process was started in: its workers and, unless given, its hosts.
SessionOptions in_run(const join::RunEnvironment& environment, SessionOptions options);
SessionOptions in_run(const join::RunContext& context, SessionOptions options);

}  // namespace starling::session
