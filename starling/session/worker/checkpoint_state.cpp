#include "starling/session/worker/checkpoint_state.h"

#include <algorithm>

namespace starling::session {

namespace {

constexpr std::uint64_t kMagic = 0x3130'5450'454b'5331;  // "1SKEPT01": changes with the layout

}  // namespace

CheckpointState::CheckpointState(std::span<const std::byte> before) : continues_(!before.empty()) {
  if (!continues_) return;
  ByteReader in(before, "the kept state of a checkpoint");
  if (in.get<std::uint64_t>() != kMagic) in.refuse("it does not begin as one does");
  const auto count = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string name = in.get_text();
    const std::span<const std::byte> state = in.get_block();
    before_[name] = Bytes(state.begin(), state.end());
  }
  in.expect_end();
}

void CheckpointState::keep(std::string_view name, std::span<std::byte> state) {
  states_[std::string(name)] = state;
  if (!continues_) return;
  const auto found = before_.find(name);
  if (found == before_.end()) {
    throw Error(concat("the checkpoint has no state \"", name, "\": the run has other settings"));
  }
  if (found->second.size() != state.size()) {
    throw Error(concat("the checkpoint's state \"", name, "\" has ", found->second.size(),
                       " bytes, now it has ", state.size(), ": the run has other settings"));
  }
  std::copy(found->second.begin(), found->second.end(), state.begin());
}

Bytes CheckpointState::pack() const {
  ByteWriter out;
  out.put(kMagic).put<std::uint64_t>(states_.size());
  for (const auto& [name, state] : states_) out.put_text(name).put_block(state);
  return out.take();
}

}  // namespace starling::session
