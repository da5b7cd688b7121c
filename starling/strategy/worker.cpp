#include "starling/strategy/worker.h"

#include <cstring>

namespace starling::strategy {

void copy(Data from, Data to) {
  if (from.ghost() || to.ghost() || from.count == 0) return;
  std::memcpy(to.bytes, from.bytes, from.size());
}

Task<> Member::pass_memory(std::size_t) { co_return; }

void Member::keep(std::string_view, std::span<std::byte>) {}

Task<> Worker::parameters_free() { co_return; }

Task<> StepListener::before_forward(std::size_t) { co_return; }

void StepListener::gradient_ready(std::size_t) {}

Task<> StepListener::settle() { co_return; }

}  // namespace starling::strategy
