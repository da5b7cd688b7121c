// Worlds of ranks in one process.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/support/world.h"

namespace starling::testing {

// All ranks on one thread and virtual time. With a seed, what happens in one instant is shuffled.
class VirtualWorld final : public World {
 public:
  explicit VirtualWorld(std::optional<std::uint64_t> seed = std::nullopt) : seed_(seed) {}
  std::vector<std::string> run(int ranks, const Body& body) override;

 private:
  std::optional<std::uint64_t> seed_;
};

// Each rank on a thread of its own with a loop of its own.
class LoopWorld final : public World {
 public:
  std::vector<std::string> run(int ranks, const Body& body) override;
};

}  // namespace starling::testing
