#include "starling/launch/group_guard.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <set>

namespace starling::launch {

namespace {

// The guard holds nothing of the launcher's open: neither its output nor its locks.
void keep_only(int channel) {
  constexpr int kKept = STDERR_FILENO + 1;
  const int nothing = open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, standard);
  dup2(channel, kKept);
  close_range(kKept + 1, UINT_MAX, 0);
}

int guard(int channel) {
  keep_only(channel);
  std::set<pid_t> groups;
  for (;;) {
    pid_t change = 0;
    const ssize_t got = read(STDERR_FILENO + 1, &change, sizeof change);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof change) break;  // the launcher is gone
    if (change > 0) {
      groups.insert(change);
    } else {
      groups.erase(-change);
    }
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
  return 0;
}

}  // namespace

// A group of its own, so that what ends the launcher's group does not end the guard first.
GroupGuard::GroupGuard() {
  DescriptorPair ends = make_socket_pair();
  guard_.emplace([&ends] { return guard(ends.first.get()); },
                 ChildOptions{.own_group = true, .death_signal = 0});
  channel_ = std::move(ends.second);
}

GroupGuard::~GroupGuard() {
  channel_ = Descriptor();
  guard_->wait();
}

// A guard that was killed guards nothing.
void GroupGuard::tell(pid_t change) {
  [[maybe_unused]] const ssize_t sent = send(channel_.get(), &change, sizeof change, MSG_NOSIGNAL);
}

}  // namespace starling::launch
