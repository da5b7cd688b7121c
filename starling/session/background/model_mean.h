// The mean over the workers' models: in the middle of a run on request, and at its end for all. Belongs to
// the engine's thread; models are copied on the user's, to which the extras belong.
//
// In the middle: each worker publishes a copy of its model at the first step boundary after every interval.
// A worker that wants the mean asks all that live for their copies. They answer at once, whatever they wait
// for, so a mean never waits for a step: a worker may ask while others wait for its gradient.
//
// At the end: each worker whose strategy is over sends its model to the coordinator, the lowest worker that
// lives, which forms the mean when every worker has sent its model or is lost, and sends it to all. If the
// coordinator is lost, workers without the mean turn to the next one, and workers that have it send it
// there: whoever has got a mean keeps it, so all that live end with the same bits.
//
// Where the strategy keeps the parameters equal only the extras are exchanged, and nothing if there are none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "starling/runtime/event.h"
#include "starling/session/background/control_channel.h"
#include "starling/session/session_options.h"
#include "starling/session/worker/real_worker.h"
#include "starling/session/worker/step_hook.h"

namespace starling::session {

class ModelMean final : public StepHook {
 public:
  // The references must outlive it.
  ModelMean(RealWorker& worker, ControlChannel& control, const Callbacks& callbacks,
            const SessionOptions& options);

  runtime::Task<bool> before_step(std::uint64_t step) override;

  // The mean of `own`, parameters then extras, and what the others have published. InvalidArgument if
  // workers do not publish.
  runtime::Task<std::vector<float>> with_others(std::vector<float> own);

  // The strategy ended well: others still get this worker's model from here.
  runtime::Task<> finished();
  // The worker's model becomes the mean, if the options say so. Waits for every worker that lives.
  runtime::Task<> make_final();

 private:
  using Model = std::vector<float>;

  bool nothing_to_average() const;
  std::size_t first() const;  // of the elements that are exchanged
  runtime::Task<Model> copy_model();
  runtime::Task<> load_model(const Model& model);
  void answer(Rank to, std::uint64_t request);
  void take_copy(Rank from, const Bytes& bytes);
  void take_final_model(Rank from, const Bytes& bytes);
  void take_final_mean(Model mean);
  void tell_next_coordinator();
  Rank coordinator() const;
  std::optional<Rank> missing(const std::map<Rank, Model>& models) const;
  Model mean_of(const std::map<Rank, Model>& models) const;

  RealWorker& worker_;
  ControlChannel& control_;
  const Callbacks& callbacks_;
  std::optional<Duration> publish_every_;
  bool equal_models_;
  bool final_mean_;

  std::optional<Model> published_;
  Time published_at_{};
  std::map<Rank, std::uint64_t> unanswered_;  // requests that came before the first copy, by rank

  std::uint64_t request_ = 0;     // of this worker
  std::map<Rank, Model> copies_;  // answers to it

  std::map<Rank, Model> final_models_;  // of the coordinator
  std::optional<Model> final_;
  Rank told_ = -1;  // the coordinator that has this worker's final model or the mean
  runtime::Event news_;
};

}  // namespace starling::session
