// How the members of a direct exchange come together. Each posts its contribution; once all have posted, one
// of them commits the exchange by a single atomic step. From then on its result is certain, because
// everything needed to form it is in memory that outlives any process. Before that a member can withdraw (it
// timed out, its task was cancelled, a member died without having posted), and then nobody's data has been
// touched. So either every survivor gets the complete result or every survivor keeps its old data.
//
//   commit:   see all postings; lock each, the first member's first; turn the verdict from open to committed.
//   withdraw: free a posting that is not locked; otherwise turn the verdict from open to aborted. If it was
//             committed before, there is no way back.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/collective/direct_board.h"
#include "starling/core/error.h"

namespace starling::collective {

enum class DirectTask : std::uint32_t { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kBarrier };

// The contribution of a member; everything but the location of the data and the weight must be the same for
// all.
struct Contribution {
  DirectTask task = DirectTask::kBarrier;
  Data data;
  Reduction how;
  Rank root = 0;
  Tag tag = 0;
  std::size_t pieces = 0;
};

class Meeting {
 public:
  struct Member {
    Rank rank = 0;
    Posting* posting = nullptr;  // null: not seen
    std::size_t slot = 0;
    std::uint64_t serial = 0;
    std::byte* data = nullptr;  // valid once committed
  };

  Meeting(Transport& net, const Group& group, const Contribution& brings);
  // Withdraws, or, if the exchange is committed, lets the others finish without this member.
  ~Meeting();

  // Waits for a free posting of our own; its small buffer may hold the data.
  Task<> prepare();
  std::span<std::byte> inline_buffer() const;

  // Posts `data`, which must be in shared memory, and returns when the exchange is committed. Otherwise
  // throws PeerLost, Timeout or InvalidArgument, and nothing has been changed.
  Task<> convene(std::byte* data);

  // The work is done. The others may still be looking, so the posting stays for a while.
  void leave();

  const std::vector<Member>& members() const { return members_; }
  std::size_t self() const { return self_; }
  Ledger& ledger() const;
  transport::SharedMemory& memory() const { return memory_; }
  Time deadline() const;
  std::string describe() const;

 private:
  // State of this rank between exchanges.
  struct History;
  class Arrival;
  class FreeSlot;
  enum class Stage { kNew, kPosted, kCommitted, kGone };

  bool find_slot();
  bool see(Member& member);
  void look_for(Member& member);
  bool settled();
  bool try_commit();
  bool lock_all();
  bool withdraw();
  void give_up(bool in_time);
  Timeout late(const std::string& waited) const;
  void check_agreement() const;
  void wake_helpers();
  std::function<bool()> all_left() const;

  Transport& net_;
  transport::SharedMemory& memory_;
  History& history_;
  const Group& group_;
  Contribution brings_;
  std::uint64_t group_hash_;
  std::vector<Member> members_;
  std::size_t self_;
  Stage stage_ = Stage::kNew;
  Rank lost_ = -1;
  Rank aborted_by_ = -1;
};

}  // namespace starling::collective
