// Lines of text over a Unix socket: how the benchmark talks to the ranks it measures.
//
// The socket's name is abstract: it is no file, so nothing is left behind however the program ends.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "starling/core/error.h"

namespace starling::cli {

inline std::string why_failed(std::string_view what) { return concat(what, ": ", std::strerror(errno)); }

class LineSocket {
 public:
  explicit LineSocket(int descriptor) : descriptor_(descriptor) {}
  LineSocket(LineSocket&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), received_(std::move(other.received_)) {}
  LineSocket& operator=(LineSocket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(received_, other.received_);
    return *this;
  }
  ~LineSocket() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int descriptor() const { return descriptor_; }

  // False if the other side is gone.
  bool send_line(std::string line) {
    line += '\n';
    for (std::string_view rest = line; !rest.empty();) {
      const ssize_t sent = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return false;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Reads once, waiting for the first byte; false at the end of the stream.
  bool receive() {
    char chunk[512];
    ssize_t got = -1;
    do got = read(descriptor_, chunk, sizeof chunk);
    while (got < 0 && errno == EINTR);
    if (got > 0) received_.append(chunk, static_cast<std::size_t>(got));
    return got > 0;
  }

  // The next line among what was received.
  std::optional<std::string> take_line() {
    const std::size_t end = received_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
  }

  // Sleeps until there is a line; nothing at the end of the stream.
  std::optional<std::string> wait_for_line() {
    for (;;) {
      if (std::optional<std::string> line = take_line()) return line;
      if (!receive()) return std::nullopt;
    }
  }

 private:
  int descriptor_;
  std::string received_;
};

struct SocketName {
  sockaddr_un address{};
  socklen_t size = 0;

  explicit SocketName(std::string_view name) {
    if (name.size() + 1 > sizeof address.sun_path) throw Error(concat("socket name too long: ", name));
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, name.size());  // the leading zero makes it abstract
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

inline LineSocket connect_to(const std::string& name) {
  const SocketName address(name);
  LineSocket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(socket.descriptor(), address.get(), address.size) != 0) {
    throw Error(why_failed("cannot reach the benchmark's control socket"));
  }
  return socket;
}

}  // namespace starling::cli
