// Some ranks on some transport, for tests that are written once and hold for every transport. A new transport
// needs a World of its own and a row in worlds.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "starling/runtime/task.h"
#include "starling/transport/transport.h"

namespace starling::testing {

// How a rank's body sees its world.
class Peer {
 public:
  explicit Peer(transport::Transport& transport) : net(transport) {}
  virtual ~Peer() = default;

  transport::Transport& net;

  // Ends this rank abruptly, in the middle of whatever it does. Never returns. A world of processes raises
  // SIGKILL here instead.
  [[noreturn]] virtual void die();
};

// Thrown by die() where ranks share a process. Not an Error, so that no body catches it by accident.
struct Killed {};

class World {
 public:
  // Runs as a task on every rank, maybe on its own thread or in its own process: it shares no variables with
  // the others, and checks by throwing (see check.h).
  using Body = std::function<runtime::Task<>(Peer&)>;

  virtual ~World() = default;

  // Each rank's outcome: "" if it ended well, "killed" if it died, else the text of its error.
  virtual std::vector<std::string> run(int ranks, const Body& body) = 0;
};

// The body's outcome, to be run on the rank's scheduler. A body that hangs ends after a generous limit with a
// Timeout that names the wait.
runtime::Task<std::string> outcome_of(const World::Body& body, Peer& peer);

struct NamedWorld {
  std::string name;
  std::function<std::unique_ptr<World>()> make;
};

// Every transport there is; the one list to extend.
std::vector<NamedWorld> all_worlds();

}  // namespace starling::testing
