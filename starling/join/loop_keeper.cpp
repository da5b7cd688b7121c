#include "starling/join/loop_keeper.h"

#include <utility>

#include "starling/runtime/run.h"

namespace starling::join {

namespace {

runtime::Task<> wait_for(runtime::Event& event) { co_await event; }

}  // namespace

LoopKeeper::LoopKeeper(runtime::LoopScheduler& loop, transport::Transport& net,
                       std::optional<Duration> stall_limit)
    : loop_(loop), net_(net), thread_([this, stall_limit] { run(stall_limit); }) {}

void LoopKeeper::stop() {
  if (!thread_.joinable()) return;
  loop_.post([this] { wanted_.set(); });
  thread_.join();
}

void LoopKeeper::hand_over() {
  stop();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void LoopKeeper::run(std::optional<Duration> stall_limit) {
  try {
    const transport::Beating beating(net_, stall_limit);
    runtime::run(loop_, wait_for(wanted_), "joined");
  } catch (...) {
    error_ = std::current_exception();
  }
}

}  // namespace starling::join
