// Ends an exchange for all members when one is lost.
#pragma once

#include "starling/collective/collective.h"

namespace starling::collective {

// Throws PeerLost if a member of the group is lost.
void require_alive(const Transport& net, const Group& group);

// Runs `exchange`; it is cancelled with PeerLost as soon as any member of the group is lost.
//
// The neighbours of a lost member fail by themselves and leave. Members further away wait for those
// neighbours, which are alive but will not answer any more: without this they would wait forever.
Task<> guarded(Transport& net, const Group& group, Task<> exchange);

}  // namespace starling::collective
