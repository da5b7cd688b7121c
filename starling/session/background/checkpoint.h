// Checkpoints: after every so many steps all workers pause, each writes its part, and when all have, rank 0
// is informed. Belongs to the engine's thread; the program writes on the user's.
//
// Before the step that follows, each worker tells all others that it is here, and waits until they are: all
// have made the same number of steps, and each has what it waited for in its last one, so no message is in
// flight and services are idle. They tell each other again when they have written.
//
// No worker waits forever. A pausing worker delays none that has steps to make: in lockstep a step waits only
// for the same step of others, which pausing workers have made; in an asynchronous strategy no worker is
// waited for; with bounded staleness only the slowest is, which never waits. So the slowest goes on until it
// pauses too. (A strategy in which this does not hold says so, Strategy::may_pause.) Lost workers are not
// waited for. A worker that has ended says so, once and for all: then nothing is saved any more.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "starling/runtime/event.h"
#include "starling/session/background/control_channel.h"
#include "starling/session/background/control_messages.h"
#include "starling/session/callbacks.h"
#include "starling/session/worker/checkpoint_state.h"
#include "starling/session/worker/real_worker.h"
#include "starling/session/worker/step_hook.h"

namespace starling::session {

class Checkpoint final : public StepHook {
 public:
  // Every so many steps, 0: never. All references must outlive it.
  Checkpoint(RealWorker& worker, ControlChannel& control, const Callbacks& callbacks,
             const CheckpointState& kept, std::uint64_t every);

  runtime::Task<bool> before_step(std::uint64_t step) override;
  bool rests_before(std::uint64_t step) const override { return is_due(step - 1); }
  // The strategy is over.
  void finished();

  // On the rank that only serves: gives rank 0 its state when asked.
  static void answer(ControlChannel& control, const CheckpointState& kept);

 private:
  using Message = CheckpointMessage;
  using Word = CheckpointMessage::Word;

  bool is_due(std::uint64_t steps) const;
  void tell_others(const Message& message);
  runtime::Task<bool> all_say(Word word, std::uint64_t steps);
  runtime::Task<std::optional<Message>> next_from(Rank rank, Word word, std::uint64_t steps);
  runtime::Task<bool> write(std::uint64_t steps);
  runtime::Task<bool> fetch_from_server(Save& save);

  RealWorker& worker_;
  ControlChannel& control_;
  const Callbacks& callbacks_;
  const CheckpointState& checkpoint_state_;
  std::uint64_t every_;
  std::uint64_t first_;                    // steps made before this run
  std::vector<std::deque<Message>> said_;  // by worker, in order
  std::optional<Bytes> server_state_;
  runtime::Event news_;
};

}  // namespace starling::session
