// A service's view of a real process, beside a worker or on a rank of its own. Belongs to the engine's
// thread.
#pragma once

#include <string>

#include "starling/session/worker/checkpoint_state.h"
#include "starling/strategy/run_info.h"

namespace starling::session {

class RealService final : public strategy::WithRunInfo<strategy::Member> {
 public:
  // `kept` may be a worker's too, and must outlive it.
  RealService(const strategy::RunInfo& info, transport::Transport& net, Random random, CheckpointState& kept)
      : WithRunInfo(info, net, random), checkpoint_state_(kept) {
    kept.keep("service/random", std::as_writable_bytes(std::span(&WithRunInfo::random(), 1)));
  }

  void keep(std::string_view name, std::span<std::byte> state) override {
    checkpoint_state_.keep(concat("service/", name), state);
  }

 private:
  CheckpointState& checkpoint_state_;
};

}  // namespace starling::session
