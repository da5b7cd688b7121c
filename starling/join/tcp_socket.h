// Functions of the kernel's sockets that the rendezvous needs and Asio does not offer. Nothing here is
// inherited by programs that this process starts: a copy of a connection would keep it open.
#pragma once

#include <cstdint>
#include <string>

#include "starling/core/descriptor.h"

namespace starling::join {

struct Listener {
  Descriptor socket;
  std::uint16_t port = 0;
  bool v6 = false;
};

// Listens at an address or name of this host; port 0: any that is free; "::" means all, IPv4 too, and so does
// a name but localhost that is of the loopback here. Throws InvalidArgument if the address is none of this
// host, Error if the port cannot be had.
Listener listen_at(const std::string& host, std::uint16_t port);

// The next connection, which does not block and notices within some 10 s that the peer's host is gone.
// Invalid if there is none, with the reason in errno.
Descriptor accept_next(int listener);

void close_on_exec(int socket);

// False if the peer has closed. Asks the kernel, which knows it before a handler has been called.
bool still_open(int socket);

}  // namespace starling::join
