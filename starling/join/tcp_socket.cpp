#include "starling/join/tcp_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "starling/core/error.h"
#include "starling/join/rendezvous_address.h"

namespace starling::join {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

void set_option(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);
}

Addresses look_up(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const int code =
      host.empty() ? EAI_NONAME : getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) {
    throw InvalidArgument(
        concat("cannot listen at '", host, "', which is not an address of this host: ", gai_strerror(code)));
  }
  return {found, &freeaddrinfo};
}

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool is_name(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) != 1 && inet_pton(AF_INET6, host.c_str(), &address) != 1;
}

// A host often maps its own name to an address of its loopback, Debian's to 127.0.1.1, while the others reach
// its network by that name: it then listens at all of its addresses.
void widen(const std::string& host, sockaddr& address) {
  if (host == "localhost" || !is_name(host) || !is_loopback(address)) return;
  if (address.sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_any;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_ANY);
  }
}

std::uint16_t port_of(int socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  getsockname(socket, reinterpret_cast<sockaddr*>(&name), &length);
  // Both families have it at the same offset.
  sockaddr_in v4{};
  std::memcpy(&v4, &name, sizeof v4);
  return ntohs(v4.sin_port);
}

}  // namespace

Listener listen_at(const std::string& host, std::uint16_t port) {
  const Addresses found = look_up(host, port);
  widen(host, *found->ai_addr);
  Listener listener;
  listener.v6 = found->ai_family == AF_INET6;
  listener.socket =
      Descriptor(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  const int fd = listener.socket.get();
  // Connections of a run that has just ended must not keep the next one from its port.
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (listener.v6) set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (!listener.socket.valid() || bind(fd, found->ai_addr, found->ai_addrlen) != 0 ||
      listen(fd, SOMAXCONN) != 0) {
    const bool elsewhere = errno == EADDRNOTAVAIL;
    const std::string text =
        concat("cannot listen at ", address_of({host, port, {}}), ": ", std::strerror(errno));
    if (elsewhere) throw InvalidArgument(text);
    throw Error(text);
  }
  listener.port = port_of(fd);
  return listener;
}

Descriptor accept_next(int listener) {
  Descriptor socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) return socket;
  // The cards must not wait until the peer has acknowledged the welcome.
  set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set_option(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(socket.get(), IPPROTO_TCP, TCP_KEEPCNT, 3);
  return socket;
}

void close_on_exec(int socket) { fcntl(socket, F_SETFD, FD_CLOEXEC); }

bool still_open(int socket) {
  char byte = 0;
  const ssize_t got = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

}  // namespace starling::join
