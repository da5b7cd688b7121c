// The ranks of other hosts, as a transport sees them: messages go out through an engine as frames (frame.h),
// and what comes in is given to the transport's matcher.
//
// A rank that is silent for too long counts as lost: each rank sends a sign of life from time to time to
// ranks to which it sends nothing else. Silence is counted in own looks at the clock, so that a process that
// was stopped for a while does not blame the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "starling/runtime/loop_scheduler.h"
#include "starling/transport/alarm.h"
#include "starling/transport/matcher.h"
#include "starling/transport/operation.h"
#include "starling/transport/wire/engine.h"
#include "starling/transport/wire/frame.h"

namespace starling::transport::wire {

class Remote final : private Engine::Client {
 public:
  static constexpr Duration kDefaultSilence = std::chrono::seconds(5);

  struct Options {
    std::unique_ptr<Engine> engine;  // connected to the peers
    std::vector<Rank> peers;
    Duration silence = kDefaultSilence;  // after which a rank is lost
  };
  // About a peer. Left and broken are final and come once; a silent one may be heard again. The caller
  // decides when it is lost (drop()); until then sends to it wait.
  enum class News { kLeft, kBroken, kSilent, kHeardAgain };
  using Tell = std::function<void(Rank rank, News news, const std::string& why)>;

  Remote(runtime::LoopScheduler& loop, Matcher& matcher, Options setting, Tell tell);
  // Says good-bye.
  ~Remote();

  std::string_view name() const { return engine_->name(); }

  // To one of the peers, which is not lost.
  void start_send(Sending& sending);
  void withdraw_send(Sending& sending) noexcept;
  // A message that is on its way into the receive's memory is waited for, and kept for the next receive.
  void withdraw_recv(Inbound& receiving) noexcept;
  // Ends everything in progress with a rank that was lost. The caller has recorded the loss.
  void drop(Rank peer, const std::exception_ptr& loss);

  bool poll();
  void set_parked(bool parked) { parked_ = parked; }

 private:
  class Offer;
  using Key = std::pair<Rank, std::uint64_t>;  // the sender and its number

  // A long message of ours that its receiver does not have yet.
  struct Outgoing {
    Sending* sending = nullptr;  // null: given up, `copy` has the data
    std::vector<std::byte> copy;
    Rank to = 0;
    std::unique_ptr<Transfer> transfer;  // once the receiver took it
  };
  // A long message that we have taken. If its receive was taken back, it goes on into memory of its own, and
  // is in the matcher as an offer again.
  struct Incoming {
    Inbound* receiving = nullptr;
    Tag tag = 0;
    std::span<std::byte> target;
    std::vector<std::byte> own;
    std::unique_ptr<Transfer> transfer;  // null: it has arrived
  };
  struct Peer {
    Operation::Queue backlog;  // sends that wait until the engine has sent what it stores
    int silent = 0;            // looks at the clock since it was last heard
    bool spoken = false;       // a frame was sent to it since the last look
    bool leaving = false;      // it has said good-bye, and what it sent before is still coming
    bool ended = false;        // it has left, or its connection is broken: nothing is sent to it any more
    bool lost = false;
  };

  void take_frame(Rank from, std::span<const std::byte> frame) override;
  void take_failure(Rank peer, const std::string& why) override;
  void act_on(Rank from, const Head& head, std::span<const std::byte> data);
  void push(Rank to, std::uint64_t number);
  void finish(Rank to, std::uint64_t number);
  void drop_offer(Rank from, std::uint64_t number);
  void part_from(Rank peer);
  void end(Rank peer, News news, const std::string& why);
  void take(const Offer& offer, Inbound& receiving);
  void claim(const Offer& offer, Inbound& receiving);
  void divert(std::map<Key, Incoming>::iterator at);
  void complete(std::map<Key, Incoming>::iterator at);
  void transmit(Sending& sending);
  void flush_backlogs();
  bool look_at_outgoing();
  bool look_at_incoming();
  Transfer::State settle(Transfer& transfer, Rank peer, Duration patience);
  void look_at_clock();
  void wake() {}  // nothing to do: the loop runs again
  void post(Rank to, const Head& head, std::span<const std::byte> data = {});

  runtime::LoopScheduler& loop_;
  Matcher& matcher_;
  std::unique_ptr<Engine> engine_;
  Tell tell_;
  Duration silence_;
  std::map<Rank, Peer> peers_;
  int waiting_ = 0;  // sends in backlogs
  std::map<std::uint64_t, Outgoing> outgoing_;
  std::uint64_t next_number_ = 1;
  std::map<Key, Offer*> offers_;  // those in the matcher
  std::map<Key, Incoming> incoming_;
  bool parked_ = false;
  Duration nap_{};
  Alarm<Remote, &Remote::look_at_clock> clock_{*this};
  Alarm<Remote, &Remote::wake> waking_{*this};
};

}  // namespace starling::transport::wire
