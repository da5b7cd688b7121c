// Ranks as forked processes over shared memory.
#pragma once

#include <optional>

#include "starling/transport/link.h"
#include "tests/support/world.h"

namespace starling::testing {

class ShmWorld final : public World {
 public:
  // With an emulated link, or without.
  explicit ShmWorld(const std::optional<transport::Link>& link = {}) : link_(link) {}
  std::vector<std::string> run(int ranks, const Body& body) override;

 private:
  std::optional<transport::Link> link_;
};

}  // namespace starling::testing
