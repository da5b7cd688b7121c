#include "starling/core/log.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "starling/core/text.h"

namespace starling {
namespace {

// A full pipe or a signal may cut a write short; then the rest follows. There is nowhere to report a failure.
void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "unknown";
}

LogSink stderr_log(LogLevel lowest) {
  return [lowest](LogLevel level, std::string_view text) {
    if (level < lowest) return;
    write_all(STDERR_FILENO, concat("starling: ", name_of(level), ": ", text, "\n"));
  };
}

}  // namespace starling
