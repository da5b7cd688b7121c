// How a run ends before its last step, at the wish of anybody or at a time, without anybody waiting for one
// that has gone.
//
// Who wants the end tells the coordinator, the lowest worker that lives. It asks every living worker. Each
// answers at once, also while its program computes, with the number of steps it has begun, and begins no
// other until it is told which is the last: where workers count steps together (lockstep) the most that
// anybody has begun, elsewhere its own.
//
// Nobody waits for ever. The answers need no step to end. In lockstep, let the last step be s: some worker
// has begun s, and nobody begins s + 1. A step k <= s waits at most for the others' steps up to k. A worker
// that has not begun k has been told s >= k or will be, so it goes on to k as soon as its step k - 1 is over;
// by induction over k all steps up to s end. Elsewhere nobody is held up by one whose strategy is over.
//
// A lost rank is not waited for. When the coordinator is lost, everybody who was asked or has a wish, and has
// not been told the last step, turns to the next one, who asks again. Answers may be repeated: who has been
// told a last step says so and it stays, since it may have gone on to it. Who has answered the next one no
// longer listens to the one before, whose letters may be late: else the two could name different steps.
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

  Rank coordinator() const;
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
  bool entreated_ = false;  // by others, who take this one for the coordinator
  std::optional<Time> due_;
  std::optional<Rank> asked_by_;  // the last one; what comes from one before it is void
  std::optional<Rank> wish_told_to_;
  std::optional<std::uint64_t> last_;
  runtime::Event told_;

  // Of the coordinator.
  bool asking_ = false;
  bool settled_ = false;
  std::vector<std::optional<Message>> answers_;  // by worker
};

}  // namespace starling::session
