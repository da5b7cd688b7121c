// How a run ends before its last step, at the request of any worker or at a time, without waiting for lost
// workers.
//
// A worker that wants the end tells the coordinator (coordinator.h), which asks every living worker. Each
// answers at once, even while its program computes, with the number of steps it has begun, and begins no
// other until it learns the last one: where workers count steps together (lockstep) the largest number that
// any has begun, otherwise its own.
//
// No worker waits forever. The answers need no step to end. In lockstep, let the last step be s: some worker
// has begun s, and none begins s + 1. A step k <= s waits at most for the others' steps up to k. A worker
// that has not begun k has learnt s >= k or will, so it goes on to k as soon as its step k - 1 is over; by
// induction over k all steps up to s end. Otherwise no worker is held up by one whose strategy is over.
//
// A lost rank is not waited for. When the coordinator is lost, every worker that was asked or has a request,
// and does not know the last step, turns to the next one, which asks again. Answers may be repeated: a worker
// that knows a last step says so and it stays, because the worker may have gone on to it. A worker that has
// answered the next coordinator ignores the one before, whose messages may be late: otherwise the two could
// name different steps.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "starling/runtime/event.h"
#include "starling/session/background/control_channel.h"
#include "starling/session/background/control_messages.h"
#include "starling/session/worker/step_hook.h"

namespace starling::session {

class StopProtocol final : public StepHook {
 public:
  struct Options {
    int workers = 1;
    bool lockstep = true;
    std::optional<Duration> until;                                    // after the common origin
    std::uint64_t begun = 0;                                          // steps made before this run
    std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();  // none is begun after these anyway
  };

  StopProtocol(transport::Transport& net, ControlChannel& control, const Options& setting);

  runtime::Task<bool> before_step(std::uint64_t step) override;

  // This rank wants the run to end.
  void wish();
  // This rank's strategy is over after so many steps.
  void finished(std::uint64_t steps);

  // Before the first step. Wishes from before count too.
  void begin(Time origin);
  // Looks at the time, beside the strategy.
  runtime::Task<> watch();

 private:
  using Message = StopMessage;
  using Verb = StopMessage::Verb;

  void handle(Rank from, const Message& message);
  void look_at_time();
  void pursue();
  void ask();
  void settle();
  std::uint64_t last_of_all() const;
  void tell(Rank to, const Message& message);

  transport::Transport& net_;
  ControlChannel& control_;
  Options setting_;

  std::uint64_t begun_;
  bool done_ = false;
  bool started_ = false;
  bool wished_ = false;     // by this rank
  bool entreated_ = false;  // by others, which take this worker for the coordinator
  std::optional<Time> due_;
  std::optional<Rank> asked_by_;  // the last one; messages from earlier ones are void
  std::optional<Rank> wish_told_to_;
  std::optional<std::uint64_t> last_;
  runtime::Event told_;

  // On the coordinator.
  bool asking_ = false;
  bool settled_ = false;
  std::vector<std::optional<Message>> answers_;  // by worker
};

}  // namespace starling::session
