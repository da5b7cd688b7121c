// Common parts of the worlds of processes.
#pragma once

#include <string>
#include <vector>

#include "starling/launch/forked_ranks.h"
#include "tests/support/world.h"

namespace starling::testing {

// Runs the body, then waits until all are done, or dead: a rank that ends is lost to the others. A rank that
// died does not wait.
runtime::Task<std::string> live(const World::Body& body, Peer& self);

// The same for a rank that is a process of its own; throws the body's outcome if that is not good.
void live_as_process(transport::Transport& net, const World::Body& body);

// The outcomes, in the form of World::run.
std::vector<std::string> outcomes_of(launch::ForkedRanks& processes);

}  // namespace starling::testing
