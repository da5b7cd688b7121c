// Lines of text over a Unix socket: how the benchmark communicates with the ranks it measures.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "starling/core/abstract_socket.h"
#include "starling/core/descriptor.h"
#include "starling/core/error.h"

namespace starling::cli {

inline std::string why_failed(std::string_view what) { return concat(what, ": ", std::strerror(errno)); }

class LineSocket {
 public:
  explicit LineSocket(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  const Descriptor& descriptor() const { return descriptor_; }

  // False if the other side is gone.
  bool send_line(std::string line) {
    line += '\n';
    for (std::string_view rest = line; !rest.empty();) {
      const ssize_t sent = ::send(descriptor_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
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
    do got = read(descriptor_.get(), chunk, sizeof chunk);
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
  Descriptor descriptor_;
  std::string received_;
};

inline LineSocket connect_to(const std::string& name) {
  LineSocket socket(connect_to_name(name, SOCK_STREAM));
  if (!socket.descriptor().valid()) throw Error(why_failed("cannot reach the benchmark's control socket"));
  return socket;
}

}  // namespace starling::cli
