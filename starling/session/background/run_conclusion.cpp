#include "starling/session/background/run_conclusion.h"

#include "starling/core/error.h"
#include "starling/session/background/coordinator.h"

namespace starling::session {

using runtime::Task;

RunConclusion::RunConclusion(transport::Transport& net, ControlChannel& control, int workers, bool wanted)
    : net_(net), control_(control), workers_(workers), wanted_(wanted) {
  if (!wanted) return;
  control_.on(ControlChannel::Kind::kConcluded, [this](Rank, const Bytes&) {
    concluded_ = true;
    news_.pulse();
  });
  control_.on_loss([this] {
    if (concluded_) tell_others();
    news_.pulse();
  });
}

Task<bool> RunConclusion::turn() {
  while (wanted_ && !concluded_ && !is_coordinator(net_)) {
    news_.rename(concat("rank ", coordinator_of(net_), " to conclude the run"));
    co_await news_;
  }
  co_return wanted_ && !concluded_;
}

Task<> RunConclusion::until_concluded() {
  while (!concluded_) {
    news_.rename("the conclusion of the run");
    co_await news_;
  }
}

void RunConclusion::release() { released_.set(); }

Task<> RunConclusion::released() { co_await released_; }

void RunConclusion::conclude() {
  if (!wanted_) return;
  concluded_ = true;
  tell_others();
}

// The coordinator tells all, the others only the coordinator.
void RunConclusion::tell_others() {
  const Rank to = coordinator_of(net_);
  if (to != net_.rank()) return control_.send(to, ControlChannel::Kind::kConcluded, {});
  for (Rank rank = 0; rank < workers_; ++rank) {
    if (rank != net_.rank() && !net_.lost(rank)) control_.send(rank, ControlChannel::Kind::kConcluded, {});
  }
}

}  // namespace starling::session
