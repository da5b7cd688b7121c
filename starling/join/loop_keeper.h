// Runs a loop on a thread of its own while nobody else does. A program that has joined a run and now loads
// its data for a while thus shows the others that it lives.
#pragma once

#include <exception>
#include <optional>
#include <thread>

#include "starling/runtime/event.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/transport/transport.h"

namespace starling::join {

class LoopKeeper {
 public:
  // The stall limit is that of Transport::begin_beating.
  LoopKeeper(runtime::LoopScheduler& loop, transport::Transport& net, std::optional<Duration> stall_limit);
  ~LoopKeeper() { stop(); }
  LoopKeeper(const LoopKeeper&) = delete;
  LoopKeeper& operator=(const LoopKeeper&) = delete;

  // The loop and the transport belong to the caller's thread now. Throws if running the loop failed.
  void hand_over();

 private:
  void run(std::optional<Duration> stall_limit);
  void stop();

  runtime::LoopScheduler& loop_;
  transport::Transport& net_;
  runtime::Event wanted_{"somebody to take the loop", runtime::Event::Kind::kRare};
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace starling::join
