// Checkpoints: after every so many steps all workers pause, each writes its part, and when all have, the
// program of the coordinator (coordinator.h) is informed, which completes the checkpoint. Belongs to the
// engine's thread; the program writes on the user's.
//
// Before the step that follows, each worker tells all others that it is here, and waits until they are: all
// have made the same number of steps, and each has what it waited for in its last one, so no message is in
// flight and services are idle. They tell each other again when they have written.
//
// No worker waits forever. A pausing worker delays none that has steps to make: in lockstep a step waits only
// for the same step of others, which pausing workers have made; in an asynchronous strategy no worker is
// waited for; with bounded staleness only the slowest is, which never waits. So the slowest goes on until it
// pauses too. (A strategy in which this does not hold says so, Strategy::may_pause.) Lost workers are not
// waited for. A worker that has made its last step says so, once and for all: then nothing is saved any more.
// If one cannot write its part, all skip this checkpoint.
//
// The coordinator also saves what one worker saves for all: the state of the server, and how many batches
// were given out. If there is something of the kind and the coordinator is lost before it has written, this
// checkpoint is skipped. A worker that has written belongs to it, whatever happens to that worker afterwards.
//
// The coordinator tells the others when its program has been informed. If it is lost before, the next one's
// program is, before its next step: that it is informed twice does no harm.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "starling/runtime/event.h"
#include "starling/session/background/control_channel.h"
#include "starling/session/background/control_messages.h"
#include "starling/session/batch_shares.h"
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

  // Batches are given out by demand: the checkpoint says how far. They must outlive it.
  void include(BatchShares& shares) { shares_ = &shares; }

  runtime::Task<bool> before_step(std::uint64_t step) override;
  void no_more_steps() override;
  bool rests_before(std::uint64_t step) const override { return is_due(step - 1); }
  // The strategy is over, well or not.
  runtime::Task<> finished(bool well);

  // On the rank that only serves: gives the coordinator its state when asked.
  static void answer(ControlChannel& control, const CheckpointState& kept);

 private:
  using Message = CheckpointMessage;
  using Word = CheckpointMessage::Word;

  bool is_due(std::uint64_t steps) const;
  void tell_others(const Message& message);
  runtime::Task<bool> all_say(Message own);
  runtime::Task<std::optional<Message>> next_from(Rank rank, Word word, std::uint64_t steps);
  runtime::Task<Message> write(std::uint64_t steps);
  std::optional<Saved> saved_by_living(std::uint64_t steps) const;
  runtime::Task<bool> try_on_user_thread(std::function<void()> call, std::string what);
  runtime::Task<bool> add_what_is_for_all(Save& save, Message& message);
  runtime::Task<bool> fetch_from_server(Save& save);
  runtime::Task<> complete();

  RealWorker& worker_;
  ControlChannel& control_;
  const Callbacks& callbacks_;
  const CheckpointState& checkpoint_state_;
  std::uint64_t every_;
  std::uint64_t first_;  // steps made before this run
  BatchShares* shares_ = nullptr;
  std::vector<std::deque<Message>> said_;  // by worker, in order
  std::map<Rank, Message> latest_;         // what each worker said last, without those that were lost before
  Saved written_;                          // the last one that all living workers have written
  bool said_end_ = false;                  // to the others
  std::uint64_t saved_ = 0;                // the last one of which a coordinator's program knows
  std::optional<Bytes> server_state_;
  runtime::Event news_;
};

}  // namespace starling::session
