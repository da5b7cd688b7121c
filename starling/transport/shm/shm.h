// Ranks as processes of one host. Small messages are copied through a pipe in shared memory; large ones are
// offered, and the receiver copies them straight out of the sender's memory: one copy if they lie in the
// arena (memory from allocate()), two otherwise.
//
// Ranks of other hosts are reached through a network (wire/remote.h). The shared memory is then that of this
// host's ranks only.
//
// With a link every rank behaves as if it were alone on a host behind such a link (link_gate.h): messages to
// others take their time, and no memory counts as shared. A send is then done when it has left; large
// messages are copied twice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "starling/runtime/loop_scheduler.h"
#include "starling/transport/matcher.h"
#include "starling/transport/shared_memory.h"
#include "starling/transport/shm/arena.h"
#include "starling/transport/shm/arena_common_memory.h"
#include "starling/transport/shm/heap.h"
#include "starling/transport/shm/link_gate.h"
#include "starling/transport/shm/obituary.h"
#include "starling/transport/shm/pipe.h"
#include "starling/transport/shm/stall_watch.h"
#include "starling/transport/transport.h"
#include "starling/transport/wire/remote.h"

namespace starling::transport {

class ShmTransport final : public Transport, public SharedMemory, private runtime::Source {
 public:
  // Joins the arena as `rank`. Peers that join later are found when they do. All have the same link, or none.
  ShmTransport(runtime::LoopScheduler& loop, const std::shared_ptr<shm::Arena>& arena, Rank rank,
               const std::optional<Link>& link = {});
  // One of `size` ranks: the arena's members are on this host, the setting's peers on others.
  ShmTransport(runtime::LoopScheduler& loop, const std::shared_ptr<shm::Arena>& arena, Rank rank, int size,
               wire::Remote::Options others);
  // Leaves: to the others this rank is lost from now on.
  ~ShmTransport() override;

  std::string_view name() const override { return name_; }
  Memory allocate(std::size_t bytes) override;
  SharedMemory* shared() override { return gate_ ? nullptr : this; }
  CommonMemory* common_memory() override { return gate_ ? nullptr : &common_memory_; }
  void exclude(Rank rank, const std::string& why) override;
  void begin_beating(std::optional<Duration> stall_limit) override;
  void end_beating() override { stall_watch_.end(); }

  // SharedMemory
  std::span<std::byte> board(Rank rank) override { return arena_->board(rank); }
  std::optional<std::uint64_t> offset_of(std::span<const std::byte> bytes) const override {
    return arena_->offset_of(bytes);
  }
  std::byte* at(std::uint64_t offset) const override { return arena_->at(offset); }
  bool ring(Rank rank) override { return arena_->ring(rank); }
  int idle_cores() const override;
  bool has(Rank rank) const override { return arena_->has(rank); }
  bool gone(Rank rank) const override { return arena_->gone(rank); }
  bool died(Rank rank) const override { return arena_->died(rank); }
  void quarantine(std::span<const std::byte> bytes, std::function<bool()> settled) override {
    heap_->quarantine(bytes, std::move(settled));
  }

 private:
  ShmTransport(runtime::LoopScheduler& loop, std::shared_ptr<shm::Arena> arena, Rank rank, int size);

  class OfferArrival;
  // A large message that its receiver has not finished reading.
  struct Offered {
    Sending* sending = nullptr;  // null: the send is done already, the message is staged
    Rank to = 0;
    std::uint64_t serial = 0;
    Memory staged;
  };

  void start_send(Sending& sending) override;
  void start_recv(Inbound& receiving) override;
  void withdraw_send(Sending& sending) noexcept override;
  void withdraw_recv(Inbound& receiving) noexcept override;

  bool poll() override;
  void set_parked(bool parked) override;
  void begin();
  // On a full machine a spinning rank keeps others from running, including those that it waits for.
  bool may_spin() const override { return running_ranks() <= cores_; }
  int running_ranks() const;

  void emulate(const Link& link);
  void begin_to_leave(Sending& sending);
  void leave(Sending& sending);
  void fetch_ahead();
  void put(Sending& sending);
  bool transmit(Sending& sending);
  bool offer(Sending& sending);
  Offered* offer_of(const Sending& sending);
  std::int64_t stamp(const Sending& sending) const;
  void notify(Rank to);
  void nudge(Rank to);
  void flush(Rank to);
  bool drain_inbox();
  void drain(Rank from);
  void take_in(Rank from, const shm::Front& front);
  void handle_nudges();
  void handle_changes();
  void handle_end(Rank rank);
  void handle_loss(Rank rank, const std::string& why);
  std::string why_gone(Rank rank) const;
  void handle_remote_loss(Rank rank, const std::string& why);
  void handle_evidence(Rank rank, wire::Remote::News news, const std::string& why);

  runtime::LoopScheduler& loop_;
  std::shared_ptr<shm::Arena> arena_;
  std::shared_ptr<shm::Heap> heap_;
  shm::ArenaCommonMemory common_memory_;
  shm::Obituary obituary_;
  shm::StallWatch stall_watch_;
  std::string name_ = "shm";
  Matcher matcher_;
  std::vector<Operation::Queue> backlog_;  // sends that found no room, by receiver's slot
  std::unordered_map<std::uint32_t, Offered> offered_;
  std::vector<std::uint32_t> free_offers_;
  std::uint64_t next_serial_ = 1;
  std::size_t staged_bytes_ = 0;
  std::uint64_t nudges_seen_ = 0;
  std::uint64_t changes_seen_ = 0;
  std::set<Rank> reported_;  // to the judge, as ended
  int cores_;
  std::unique_ptr<shm::LinkGate> gate_;  // of an emulated link, else null
  Alarm<ShmTransport, &ShmTransport::fetch_ahead> fetching_{*this};
  std::unique_ptr<wire::Remote> remote_;  // null: all ranks are on this host
};

}  // namespace starling::transport
