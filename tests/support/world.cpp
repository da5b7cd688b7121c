#include "tests/support/world.h"

#include <chrono>
#include <exception>

#include "starling/runtime/deadline.h"

namespace starling::testing {

void Peer::die() { throw Killed{}; }

runtime::Task<std::string> outcome_of(const World::Body& body, Peer& peer) {
  try {
    co_await runtime::with_deadline(std::chrono::seconds(60), "the body", body(peer));
  } catch (const Killed&) {
    co_return "killed";
  } catch (const std::exception& error) {
    co_return error.what();
  }
  co_return "";
}

}  // namespace starling::testing
