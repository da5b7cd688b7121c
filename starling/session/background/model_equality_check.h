// Looks every now and then whether all workers still have the same model, for strategies that promise it. A
// difference is a mistake in the training program (its own random numbers in an update, a parameter that is
// not among the sections) or in the engine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/session/worker/real_worker.h"
#include "starling/session/worker/step_hook.h"
#include "starling/strategy/worker.h"

namespace starling::session {

class ModelEqualityCheck final : public StepHook {
 public:
  // After every `every` steps, which all workers must make together. The worker must outlive it.
  ModelEqualityCheck(RealWorker& worker, std::uint64_t every) : worker_(worker), every_(every) {}

  // Sections are compared by their hashes. If some differ, all workers throw the same Error, which names the
  // step, the first rank that is not as rank 0, and its first section. PeerLost if a worker is.
  runtime::Task<bool> before_step(std::uint64_t step) override;

 private:
  void note_own(std::span<std::int64_t> hashes) const;

  RealWorker& worker_;
  std::uint64_t every_;
};

}  // namespace starling::session
