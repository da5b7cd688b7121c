#include "starling/core/log.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

namespace starling {
namespace {

// Stands in for stderr during a call; a datagram socket, so each write(2) is seen by itself.
template <class Call>
std::vector<std::string> writes_to_stderr(Call call) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends.data()), 0);
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  call();
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(ends[1]);

  std::vector<std::string> writes;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t size = ::recv(ends[0], buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size <= 0) break;
    writes.emplace_back(buffer.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  return writes;
}

TEST(Log, WritesOneLinePerMessage) {
  const auto writes = writes_to_stderr([] {
    const LogSink log = stderr_log(LogLevel::kDebug);
    log(LogLevel::kDebug, "a");
    log(LogLevel::kInfo, "b");
    log(LogLevel::kWarning, "rank 3 is slow");
    log(LogLevel::kError, "");
  });
  EXPECT_EQ(writes, (std::vector<std::string>{"starling: debug: a\n", "starling: info: b\n",
                                              "starling: warning: rank 3 is slow\n", "starling: error: \n"}));
}

TEST(Log, KeepsQuietBelowTheLowestLevel) {
  const auto writes = writes_to_stderr([] {
    const LogSink log = stderr_log();
    log(LogLevel::kDebug, "a");
    log(LogLevel::kInfo, "b");
    log(LogLevel::kWarning, "c");
    stderr_log(LogLevel::kError)(LogLevel::kWarning, "d");
  });
  EXPECT_EQ(writes, std::vector<std::string>{"starling: warning: c\n"});
}

}  // namespace
}  // namespace starling
