// Looks every now and then whether all workers still have the same model, for strategies that promise it. A
// difference is a mistake in the training program (its own random numbers in an update, a parameter that is
// not among the sections) or in the engine. Belongs to the engine's thread.
//
// Every worker sends hashes of its sections to the coordinator (coordinator.h), which tells all what it
// found. No worker waits forever: the coordinator waits for workers that live and make the same step, the
// others for the coordinator. If that is lost, they send their hashes to the next one, which compares again
// or repeats what it was told.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "starling/runtime/event.h"
#include "starling/session/background/control_channel.h"
#include "starling/session/background/control_messages.h"
#include "starling/session/worker/real_worker.h"
#include "starling/session/worker/step_hook.h"

namespace starling::session {

class ModelEqualityCheck final : public StepHook {
 public:
  // After every `every` steps, which all workers must make together; 0: never. The references must outlive
  // it.
  ModelEqualityCheck(RealWorker& worker, ControlChannel& control, std::uint64_t every);

  // If some sections differ, all workers throw the same Error, which names the step, the first rank that is
  // not as the lowest, and its first section.
  runtime::Task<bool> before_step(std::uint64_t step) override;

 private:
  std::vector<std::uint64_t> own_hashes() const;
  runtime::Task<> compare(std::uint64_t step);
  bool has_said(Rank rank, std::uint64_t step) const;
  std::string first_difference(std::uint64_t step) const;

  RealWorker& worker_;
  ControlChannel& control_;
  std::uint64_t every_;
  std::map<Rank, ModelHashes> said_;  // by each worker, last
  ModelComparison last_;
  runtime::Event news_;
};

}  // namespace starling::session
