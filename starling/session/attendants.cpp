#include "starling/session/attendants.h"

#include <chrono>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"

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

Attendants::Attendants(const strategy::Place& place, RealWorker& worker, const Setting& setting,
                       std::uint64_t last_step, const Program& program, const Kept& kept)
    : worker_(worker),
      letters_(worker.net()),
      ending_(worker.net(), letters_,
              {.workers = place.workers,
               .lockstep = setting.lockstep,
               .until = setting.until,
               .begun = worker.step(),
               .steps = last_step}),
      harvest_(worker.net(), letters_, place, setting.keep_record),
      reports_(worker, letters_, harvest_, program, setting.report),
      gallery_(worker, letters_, program, setting.snapshot_every),
      checkpoint_(worker, letters_, program, kept, setting.save_every) {
  worker.journal().keeps_spans = setting.keep_record;
}

// The checkpoint before the end, so that the last step can be saved.
RealWorker::Duties Attendants::duties() { return {&reports_, &checkpoint_, &ending_, &gallery_}; }

void Attendants::begin(Time origin) {
  harvest_.begin(origin);
  gallery_.begin(origin);
  ending_.begin(origin);
}

Task<> Attendants::run() {
  runtime::Scope scope(co_await runtime::this_context());
  scope.spawn(letters_.run(), "letters");
  scope.spawn(ending_.watch(), "the end");
  scope.spawn(reports_.run(), "statuses");
  co_await scope.join();
}

Task<> Attendants::conclude(std::exception_ptr error) {
  const Time now = worker_.now();
  ending_.finished(worker_.step());
  checkpoint_.finished();
  reports_.finished();
  if (!error) co_await gallery_.finished();
  harvest_.bring_in(worker_.journal(), now, text_of(error));
}

Task<> Attendants::see_off(std::exception_ptr error) {
  if (!error) {
    co_await all_brought_in();
    if (worker_.rank() == 0) co_await gallery_.concluded();
    co_return;
  }
  // No pictures: of a run that failed there is no last one.
  Task<> limited = runtime::with_deadline(grace_after(error), "the others' records", all_brought_in());
  try {
    co_await limited;
  } catch (const Timeout&) {  // the record says of whom nothing is known
  }
}

Task<> Attendants::all_brought_in() {
  if (worker_.rank() == 0) {
    co_await harvest_.gathered();
    co_await reports_.concluded();
  } else {
    co_await harvest_.delivered();
  }
}

}  // namespace starling::session
