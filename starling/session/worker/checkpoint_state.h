// State that a checkpoint has to hold besides the model, by name: of the strategy, its service and the
// engine.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "starling/core/byte_codec.h"

namespace starling::session {

class CheckpointState {
 public:
  // `before`: what pack() returned when the checkpoint was written; empty in a run that starts afresh. Error
  // if it is something else.
  explicit CheckpointState(std::span<const std::byte> before = {});

  // From now on pack() reads the state. In a run that continues from a checkpoint it is filled in; Error,
  // naming it, if the checkpoint does not have it, or with another size.
  void keep(std::string_view name, std::span<std::byte> state);

  Bytes pack() const;

 private:
  bool continues_;  // from a checkpoint
  std::map<std::string, Bytes, std::less<>> before_;
  std::map<std::string, std::span<std::byte>, std::less<>> states_;
};

}  // namespace starling::session
