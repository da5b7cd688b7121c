#include "tests/support/inproc_worlds.h"
#include "tests/support/shm_world.h"
#include "tests/support/world.h"

namespace starling::testing {

using namespace std::chrono_literals;

std::vector<NamedWorld> all_worlds() {
  return {
      {"inproc_virtual", [] { return std::make_unique<VirtualWorld>(); }},
      {"inproc_shuffled", [] { return std::make_unique<VirtualWorld>(20240917); }},
      {"inproc_loop", [] { return std::make_unique<LoopWorld>(); }},
      {"shm", [] { return std::make_unique<ShmWorld>(); }},
      {"shm_linked",
       [] {
         return std::make_unique<ShmWorld>(transport::Link{1e9, 20us});
       }},
  };
}

}  // namespace starling::testing
