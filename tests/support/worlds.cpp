#include "starling/transport/wire/ucx.h"
#include "tests/support/inproc_worlds.h"
#include "tests/support/shm_world.h"
#include "tests/support/wire_world.h"
#include "tests/support/world.h"

namespace starling::testing {

using namespace std::chrono_literals;

std::vector<NamedWorld> all_worlds() {
  std::vector<NamedWorld> worlds = {
      {"inproc_virtual", [] { return std::make_unique<VirtualWorld>(); }},
      {"inproc_shuffled", [] { return std::make_unique<VirtualWorld>(20240917); }},
      {"inproc_loop", [] { return std::make_unique<LoopWorld>(); }},
      {"shm", [] { return std::make_unique<ShmWorld>(); }},
      {"shm_linked",
       [] {
         return std::make_unique<ShmWorld>(transport::Link{1e9, 20us});
       }},
  };
  if (transport::wire::why_no_ucx().empty()) {
    worlds.push_back({"ucx", [] { return std::make_unique<WireWorld>(0); }});
    worlds.push_back({"shm_ucx", [] { return std::make_unique<WireWorld>(2); }});
  }
  return worlds;
}

}  // namespace starling::testing
