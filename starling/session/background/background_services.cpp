#include "starling/session/background/background_services.h"

#include <chrono>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/session/background/coordinator.h"

namespace starling::session {

using runtime::Task;

namespace {

// For the others after an error. If a rank was lost they have failed for the same reason; if not, they cannot
// end before this one leaves.
constexpr Duration kGraceAfterLoss = std::chrono::seconds(5);
constexpr Duration kGrace = std::chrono::milliseconds(500);

Duration grace_after(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PeerLost&) {
    return kGraceAfterLoss;
  } catch (...) {
    return kGrace;
  }
}

std::string text_of(const std::exception_ptr& error) {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& what) {
    return what.what();
  } catch (...) {
    return "an error that is no std::exception";
  }
}

}  // namespace

BackgroundServices::BackgroundServices(const strategy::RunInfo& info, RealWorker& worker,
                                       const SessionOptions& options, bool lockstep,
                                       const Callbacks& callbacks, const CheckpointState& state)
    : worker_(worker),
      control_(worker.net()),
      stop_(worker.net(), control_,
            {.workers = info.workers,
             .lockstep = lockstep,
             .until = options.until,
             .begun = worker.step(),
             .steps = options.steps}),
      conclusion_(worker.net(), control_, info.workers,
                  options.keep_record || options.report || options.snapshot_every),
      records_(worker.net(), control_, info, options.keep_record, options.record),
      reports_(worker, control_, records_, callbacks, options.report),
      snapshots_(worker, control_, callbacks, options.snapshot_every),
      mean_(worker, control_, callbacks, options),
      checkpoint_(worker, control_, callbacks, state, options.save_every),
      equality_check_(worker, control_, options.check_sync),
      keeps_record_(options.keep_record) {
  records_.watch(worker.journal());
}

// The checkpoint comes before the end, so that the last step can be saved.
StepHooks BackgroundServices::step_hooks() {
  return {&reports_, &checkpoint_, &stop_, &snapshots_, &mean_, &records_, &equality_check_};
}

void BackgroundServices::begin(Time origin) {
  records_.begin(origin);
  snapshots_.begin(origin);
  stop_.begin(origin);
}

Task<> BackgroundServices::run() {
  runtime::Scope scope(co_await runtime::this_context());
  scope.spawn(control_.run(), "letters");
  scope.spawn(stop_.watch(), "the end");
  scope.spawn(reports_.run(), "statuses");
  co_await scope.join();
}

Task<> BackgroundServices::conclude(std::exception_ptr error) {
  const Time now = worker_.now();
  stop_.finished(worker_.step());
  co_await checkpoint_.finished(!error);
  reports_.finished();
  if (!error) co_await snapshots_.finished();
  records_.bring_in(worker_.journal(), now, text_of(error));
  if (error) co_return;
  co_await mean_.finished();
  co_await mean_.make_final();
}

Task<> BackgroundServices::see_off(std::exception_ptr error) {
  if (!error) {
    if (!co_await conclusion_.turn()) co_return;
    runtime::Scope scope(co_await runtime::this_context());
    scope.race();
    scope.spawn(bring_in_rest(), "the others' records");
    scope.spawn(conclusion_.until_concluded(), "conclusion by another worker");
    co_await scope.join();
    co_return;
  }
  Task<> limited = runtime::with_deadline(grace_after(error), "the others' records", bring_in_after_error());
  try {
    co_await limited;
  } catch (const Timeout&) {  // the record names the ranks of which nothing is known
  }
}

Task<> BackgroundServices::bring_in_rest() {
  co_await records_.gathered();
  co_await reports_.concluded();
  co_await snapshots_.concluded();
}

// No snapshots: a failed run has no last one.
Task<> BackgroundServices::bring_in_after_error() {
  co_await records_.delivered();
  if (!is_coordinator(worker_.net())) co_return;
  co_await records_.gathered();
  co_await reports_.concluded();
}

std::vector<record::RankRecord> BackgroundServices::take_records() {
  if (conclusion_.concluded() || !is_coordinator(worker_.net())) return {};
  return records_.take();
}

Task<> BackgroundServices::concluded() {
  if (!conclusion_.concluded()) {
    if (keeps_record_) co_await conclusion_.released();
    conclusion_.conclude();
  }
  records_.forget();
  snapshots_.forget();
}

}  // namespace starling::session
