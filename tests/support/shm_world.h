// Ranks as forked processes over shared memory.
#pragma once

#include "tests/support/world.h"

namespace starling::testing {

class ShmWorld final : public World {
 public:
  std::vector<std::string> run(int ranks, const Body& body) override;
};

}  // namespace starling::testing
