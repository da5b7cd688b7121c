// The destination of messages for people. Code that logs is handed a sink; there is no global one.
#pragma once

#include <functional>
#include <string_view>

namespace starling {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// "debug", "warning"
std::string_view name_of(LogLevel level);

// Called from any thread; the text has no line end and lives only during the call.
using LogSink = std::function<void(LogLevel, std::string_view)>;

// "starling: warning: text", from `lowest` up. Each message is one write(2), so lines of processes and
// threads that share the terminal do not mix.
LogSink stderr_log(LogLevel lowest = LogLevel::kWarning);

}  // namespace starling
