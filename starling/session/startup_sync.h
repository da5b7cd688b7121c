// How the ranks of a run begin together. All functions wait for the slowest rank, with the transport's
// patience.
#pragma once

#include "starling/core/byte_codec.h"
#include "starling/runtime/task.h"
#include "starling/session/callbacks.h"
#include "starling/strategy/run_info.h"

namespace starling::session {

// The initial model of all ranks becomes that of rank 0.
runtime::Task<> agree_on_model(transport::Transport& net, strategy::RunInfo& info);

// The lowest of the workers' values. Each worker calls it.
runtime::Task<std::uint64_t> lowest_of(transport::Transport& net, int workers, std::uint64_t value);

// The rank that only serves gets its state from rank 0, where the program has it from a checkpoint; empty in
// a run that starts afresh.
runtime::Task<> hand_over_state(transport::Transport& net, Rank server, std::span<const std::byte> state);
runtime::Task<Bytes> receive_state(transport::Transport& net);

// The workers take over from rank 0 what the program has beside the model.
runtime::Task<> agree_on_rest(transport::Transport& net, collective::SharedGroup workers,
                              const Callbacks& callbacks, bool own_extras);

// The instant from which all ranks count time; they pass it within the time of a message.
runtime::Task<Time> common_origin(transport::Transport& net);

}  // namespace starling::session
