// The forward pass waits for a section: it goes on when the section's parameters are those of the step. For
// the thread that computes, between next() and computed() of the session that the replica is bound to.
#pragma once

#include <cstddef>
#include <span>

#include "starling/session/session.h"
#include "starling/torch/replica.h"

namespace starling::torch {

// It is about to use these sections, which ascend.
void wait_for_sections(session::Session& session, Replica& replica, std::span<const std::size_t> sections);

// Somebody is about to look at the whole model.
void wait_for_model(session::Session& session, Replica& replica);

}  // namespace starling::torch
