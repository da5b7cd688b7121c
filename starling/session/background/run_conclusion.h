// The end of a run is seen to by the coordinator (coordinator.h): it takes the records, shows the last
// snapshot, and its program writes the files. The others stay until it says that this is done: if it is lost
// before, the next one does all of it again. Belongs to the engine's thread.
//
// No worker waits forever: it is the coordinator, or waits for one that lives. None leaves before all know
// that the run is concluded, because the exit barrier comes after it. A worker that knows it when the
// coordinator is lost tells the next one, and that one all others.
#pragma once

#include "starling/runtime/event.h"
#include "starling/runtime/task.h"
#include "starling/session/background/control_channel.h"

namespace starling::session {

class RunConclusion {
 public:
  // If it is not wanted, there is nothing to do at the end.
  RunConclusion(transport::Transport& net, ControlChannel& control, int workers, bool wanted);

  // When this worker's strategy is over: until it is the coordinator, true, or need not be: false.
  runtime::Task<bool> turn();
  // Until another worker has concluded it.
  runtime::Task<> until_concluded();
  bool concluded() const { return concluded_; }

  // The coordinator's program has what it wants of the record.
  void release();
  runtime::Task<> released();
  // The coordinator: the others may go.
  void conclude();

 private:
  void tell_others();

  transport::Transport& net_;
  ControlChannel& control_;
  int workers_;
  bool wanted_;
  bool concluded_ = false;
  // The coordinator's program may evaluate the model for long.
  runtime::Event news_{"the conclusion of the run", runtime::Event::Kind::kRare};
  runtime::Event released_{"the program to write the files of the run", runtime::Event::Kind::kRare};
};

}  // namespace starling::session
