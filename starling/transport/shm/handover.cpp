#include "starling/transport/shm/handover.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "starling/core/abstract_socket.h"
#include "starling/core/error.h"

namespace starling::transport::shm {

namespace {

using std::chrono::steady_clock;

constexpr std::size_t kPerMessage = 250;  // the kernel passes at most 253 descriptors at a time

// Room for control data with descriptors, aligned as the kernel wants it.
struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kPerMessage * sizeof(int))> bytes{};
};

// One message: how many descriptors are still to come, and some of them.
bool send_descriptors(int socket, const int* descriptors, std::size_t count, std::uint64_t left) {
  Control control;
  iovec part{&left, sizeof left};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(head), descriptors, count * sizeof(int));
  return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof left;
}

// Adds the received descriptors to `descriptors`; returns how many are still to come, or -1.
long long receive_descriptors(int socket, std::vector<Descriptor>& descriptors) {
  Control control;
  std::uint64_t left = 0;
  iovec part{&left, sizeof left};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != sizeof left) return -1;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int value = -1;
      std::memcpy(&value, CMSG_DATA(head) + i * sizeof(int), sizeof value);
      descriptors.emplace_back(value);
    }
  }
  return static_cast<long long>(left);
}

std::shared_ptr<Arena> receive_arena(int socket) {
  std::vector<Descriptor> all;
  long long left = 0;
  do {
    left = receive_descriptors(socket, all);
  } while (left > 0);
  if (left < 0 || all.empty()) return nullptr;
  Descriptor memory = std::move(all.front());
  all.erase(all.begin());
  return Arena::open(std::move(memory), std::move(all));
}

}  // namespace

ArenaServer::ArenaServer(runtime::LoopScheduler& loop, std::shared_ptr<Arena> arena, const std::string& name)
    : loop_(loop), arena_(std::move(arena)), listener_(listen_at_name(name, SOCK_SEQPACKET, kMaxRanks)) {
  loop_.watch(listener_.get(), [this] { serve(); });
}

ArenaServer::~ArenaServer() { loop_.unwatch(listener_.get()); }

// The messages are small and the socket is new, so they fit its buffer: a client cannot delay the loop by not
// reading them.
void ArenaServer::serve() {
  const Descriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client.valid() || !is_same_user(client)) return;
  std::vector<int> all{arena_->memory()};
  for (const Rank rank : arena_->members()) all.push_back(arena_->doorbell(rank));
  for (std::size_t sent = 0; sent < all.size();) {
    const std::size_t count = std::min(kPerMessage, all.size() - sent);
    if (!send_descriptors(client.get(), all.data() + sent, count, all.size() - sent - count)) return;
    sent += count;
  }
}

std::shared_ptr<Arena> fetch_arena(const std::string& name, Duration patience) {
  const auto end = steady_clock::now() + patience;
  while (steady_clock::now() < end) {
    const Descriptor socket = connect_to_name(name, SOCK_SEQPACKET);
    if (socket.valid()) {
      if (!is_same_user(socket)) throw Error(concat("shared memory: another user serves '", name, "'"));
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now());
      pollfd readable{socket.get(), POLLIN, 0};
      const int wait_ms = static_cast<int>(std::clamp<long long>(left.count(), 0, 1 << 30));
      if (poll(&readable, 1, wait_ms) == 1) {
        if (auto arena = receive_arena(socket.get())) return arena;
      }
    }
    // Nothing listens yet; there is nothing to wait on but time.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  throw Timeout(concat("shared memory: nobody serves '", name, "' after ", format_duration(patience)));
}

HostArena::HostArena(runtime::LoopScheduler& loop, const std::string& name, const std::vector<Rank>& members,
                     Rank self, Duration patience) {
  if (members.front() == self) {
    arena_ = Arena::create(static_cast<int>(members.size()));
    server_.emplace(loop, arena_, name);
  } else {
    arena_ = fetch_arena(name, patience);
  }
  arena_->set_members(members);
  if (!arena_->claim(self, identity_of(getpid())))
    throw Error(concat("shared memory: '", name, "' has another process for rank ", self));
}

}  // namespace starling::transport::shm
