// Unix sockets with abstract names: they are no files, so nothing is left behind however a process ends. Such
// a name has no permissions: every process of the host may connect, so both sides ask for the other's user.
#pragma once

#include <string>

#include "starling/core/descriptor.h"

namespace starling {

// Listens without blocking; `type` is SOCK_STREAM or SOCK_SEQPACKET. Throws InvalidArgument for a name that
// is too long or empty, Error if it is taken.
Descriptor listen_at_name(const std::string& name, int type, int backlog);

// Invalid if nobody listens there, with the reason in errno. Throws as above.
Descriptor connect_to_name(const std::string& name, int type);

// The process at the other end belongs to this process's user.
bool is_same_user(const Descriptor& socket);

}  // namespace starling
