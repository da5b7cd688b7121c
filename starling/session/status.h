// How far the workers are: each says so to rank 0 twice a second, which shows it to the program. Belongs to
// the engine's thread.
#pragma once

#include <vector>

#include "starling/session/duty.h"
#include "starling/session/harvest.h"
#include "starling/session/letters.h"
#include "starling/session/loss_tally.h"
#include "starling/session/program.h"
#include "starling/session/real_worker.h"

namespace starling::session {

class StatusReports final : public Duty {
 public:
  // What rank 0 hears it also notes for the record.
  StatusReports(RealWorker& worker, Letters& letters, Harvest& harvest, const Program& program, bool wanted);

  runtime::Task<bool> before_step(std::uint64_t step) override;

  // Beside the strategy.
  runtime::Task<> run();
  // The strategy is over: the last report.
  void finished();
  // Rank 0: until all workers are done or lost; shows them once more.
  runtime::Task<> concluded();

 private:
  void report();
  void show();

  RealWorker& worker_;
  Letters& letters_;
  const Program& program_;
  bool wanted_;
  bool done_ = false;
  std::uint64_t first_;  // steps made before this run
  LossTally losses_;
  std::vector<Status> latest_;  // rank 0: by worker
  runtime::Event news_;
};

}  // namespace starling::session
