// The one header to include.
#pragma once

#include "starling/collective/collective.h"      // IWYU pragma: export
#include "starling/core/error.h"                 // IWYU pragma: export
#include "starling/core/version.h"               // IWYU pragma: export
#include "starling/join/run_context.h"           // IWYU pragma: export
#include "starling/launch/forked_ranks.h"        // IWYU pragma: export
#include "starling/runtime/deadline.h"           // IWYU pragma: export
#include "starling/runtime/event.h"              // IWYU pragma: export
#include "starling/runtime/loop_scheduler.h"     // IWYU pragma: export
#include "starling/runtime/mailbox.h"            // IWYU pragma: export
#include "starling/runtime/run.h"                // IWYU pragma: export
#include "starling/runtime/scope.h"              // IWYU pragma: export
#include "starling/runtime/virtual_scheduler.h"  // IWYU pragma: export
#include "starling/runtime/when.h"               // IWYU pragma: export
#include "starling/session/service_rank.h"       // IWYU pragma: export
#include "starling/session/session.h"            // IWYU pragma: export
#include "starling/sim/simulation.h"             // IWYU pragma: export
#include "starling/strategy/registry.h"          // IWYU pragma: export
#include "starling/strategy/timed_exchange.h"    // IWYU pragma: export
#include "starling/transport/inproc.h"           // IWYU pragma: export
#include "starling/transport/transport.h"        // IWYU pragma: export
