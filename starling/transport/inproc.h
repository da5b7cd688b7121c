// Many ranks in one process. On virtual time all of them share one scheduler and a Network decides when a
// message arrives; on real time each rank has a thread with its own loop and messages are posted across.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "starling/runtime/loop_scheduler.h"
#include "starling/runtime/virtual_scheduler.h"
#include "starling/transport/network.h"
#include "starling/transport/transport.h"

namespace starling::transport {

class InprocWorld {
 public:
  // `network` must outlive the world.
  InprocWorld(runtime::VirtualScheduler& scheduler, int ranks, Network& network);
  // Rank i belongs to the thread that drives loops[i]. The loops must outlive the world.
  explicit InprocWorld(const std::vector<runtime::LoopScheduler*>& loops);
  ~InprocWorld();

  int size() const { return static_cast<int>(endpoints_.size()); }
  Transport& at(Rank rank);

  // The rank is gone: all operations with it end in PeerLost. Call this where its tasks are destroyed, so
  // that its unsent messages are withdrawn.
  void lose(Rank rank, const std::string& why);
  // The same, but only this rank learns of the loss now; the others will later.
  void lose_at(Rank observer, Rank rank, const std::string& why);

  // On virtual time only. Messages between the two wait from now on, until the two are reunited.
  void part(Rank a, Rank b);
  void reunite(Rank a, Rank b);
  // The observer has heard nothing of the rank for too long, until they are reunited.
  void miss(Rank observer, Rank rank, const std::string& why);

 private:
  class Endpoint;
  class VirtualEndpoint;
  class LoopEndpoint;
  struct CommonBlock;
  Endpoint& endpoint(Rank rank);
  CommonBlock& common_block_of(int host);

  std::map<int, std::unique_ptr<CommonBlock>> common_blocks_;  // on virtual time, by host
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

}  // namespace starling::transport
