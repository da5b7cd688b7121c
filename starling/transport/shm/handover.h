// Brings an arena to processes that were not forked by the one that made it: they connect to a Unix socket
// and receive the descriptors (SCM_RIGHTS). The socket's name is in the abstract namespace, so nothing is
// left in the file system; only processes of the same user are served.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "starling/core/types.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/transport/shm/arena.h"

namespace starling::transport::shm {

// Serves an arena from a loop, which goes on with its other work. For the first process of a host.
class ArenaServer {
 public:
  // Throws Error if the name is taken.
  ArenaServer(runtime::LoopScheduler& loop, std::shared_ptr<Arena> arena, const std::string& name);
  ~ArenaServer();

 private:
  void serve();

  runtime::LoopScheduler& loop_;
  std::shared_ptr<Arena> arena_;
  Descriptor listener_;
};

// Fetches the arena from a server, which may not have started yet. Throws Timeout naming the socket, and
// Error if it is another user's.
std::shared_ptr<Arena> fetch_arena(const std::string& name, Duration patience);

// The memory of a host's ranks, where no launcher hands it out: the lowest rank makes and serves it, the
// others fetch it. All must have it before the server goes.
class HostArena {
 public:
  // Throws Error if another process serves that name or has that rank: two jobs are taken for one.
  HostArena(runtime::LoopScheduler& loop, const std::string& name, const std::vector<Rank>& members,
            Rank self, Duration patience);
  const std::shared_ptr<Arena>& arena() const { return arena_; }

 private:
  std::shared_ptr<Arena> arena_;
  std::optional<ArenaServer> server_;
};

}  // namespace starling::transport::shm
