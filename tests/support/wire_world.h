// Ranks as processes of this machine that count as ranks of several hosts, joined by a network engine. If
// STARLING_TEST_NETWORKS names network namespaces ("starling-bed-a,starling-bed-b"), the hosts are in these.
#pragma once

#include "starling/transport/wire/remote.h"
#include "tests/support/world.h"

namespace starling::testing {

class WireWorld final : public World {
 public:
  // The ranks are distributed over this many hosts in turn; 0: each has a host of its own. A rank that is
  // silent for this long is lost to the others.
  explicit WireWorld(int hosts, Duration silence = transport::wire::Remote::kDefaultSilence)
      : hosts_(hosts), silence_(silence) {}
  std::vector<std::string> run(int ranks, const Body& body) override;

 private:
  int hosts_;
  Duration silence_;
};

}  // namespace starling::testing
