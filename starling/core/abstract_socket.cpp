#include "starling/core/abstract_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "starling/core/error.h"

namespace starling {

namespace {

struct Address {
  explicit Address(const std::string& name) {
    if (name.empty() || name.size() + 1 > sizeof socket.sun_path) {
      throw InvalidArgument(
          concat("socket name '", name, "': 1 to ", sizeof socket.sun_path - 1, " characters"));
    }
    socket.sun_family = AF_UNIX;
    name.copy(socket.sun_path + 1, name.size());  // the leading zero makes it abstract
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&socket); }

  sockaddr_un socket{};
  socklen_t length = 0;
};

Descriptor new_socket(int type) {
  Descriptor made(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!made.valid()) throw Error(concat("socket: ", std::strerror(errno)));
  return made;
}

}  // namespace

Descriptor listen_at_name(const std::string& name, int type, int backlog) {
  const Address address(name);
  Descriptor listener = new_socket(type | SOCK_NONBLOCK);
  if (bind(listener.get(), address.get(), address.length) != 0 || listen(listener.get(), backlog) != 0)
    throw Error(concat("socket name '", name, "': ", std::strerror(errno)));
  return listener;
}

Descriptor connect_to_name(const std::string& name, int type) {
  const Address address(name);
  Descriptor socket = new_socket(type);
  if (connect(socket.get(), address.get(), address.length) == 0) return socket;
  const int why = errno;
  socket.close();
  errno = why;
  return socket;
}

bool is_same_user(const Descriptor& socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

}  // namespace starling
