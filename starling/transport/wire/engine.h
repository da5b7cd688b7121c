// The interface of a network library that connects ranks of different hosts: short frames, in order, and bulk
// data straight between two buffers. One engine belongs to one rank and to the thread of its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/core/types.h"

namespace starling::transport::wire {

// Bulk data in flight. Its memory is not touched any more once it has ended or its peer was given up.
class Transfer {
 public:
  enum class State { kUnderWay, kDone, kFailed };

  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;

  virtual State state() const = 0;
  // Ends the transfer if nothing has come yet, so that its memory stays as it is; for pulls. False if it must
  // be waited for.
  virtual bool cancel() = 0;
  // Continues into other memory of the same size, including what has come, and leaves the old memory alone;
  // for pulls. False if it cannot.
  virtual bool move_to(std::span<std::byte>) { return false; }
};

class Engine {
 public:
  // Receives the news, from within poll().
  class Client {
   public:
    virtual void take_frame(Rank from, std::span<const std::byte> frame) = 0;
    // Nothing comes from this rank any more. What it had sent before was delivered before.
    virtual void take_failure(Rank peer, const std::string& why) = 0;

   protected:
    ~Client() = default;
  };

  virtual ~Engine() = default;

  // "ucx"
  virtual std::string_view name() const = 0;

  // The address that others need to reach this rank, to be exchanged by other means; then everybody's, by
  // rank. Only `peers` will be contacted.
  virtual std::string card() const = 0;
  virtual void connect(const std::vector<std::string>& cards, const std::vector<Rank>& peers) = 0;

  // Frames to one rank arrive in order. The engine stores a frame until it has left; unsent() is the size of
  // what it stores.
  virtual void post(Rank to, std::vector<std::byte> frame) = 0;
  virtual std::size_t unsent(Rank to) const = 0;

  // A push and a pull of the same pair of ranks, with the same number and size, belong together. The pull
  // must be begun first: by then the peer has room for what comes.
  virtual std::unique_ptr<Transfer> push(Rank to, std::uint64_t number, std::span<const std::byte> data) = 0;
  virtual std::unique_ptr<Transfer> pull(Rank from, std::uint64_t number, std::span<std::byte> data) = 0;

  // Waits until the transfer has ended. That needs only the other end's engine, which works whatever its rank
  // does. A peer that does not move at all for `patience` is given up. `meanwhile` is called again and again.
  virtual Transfer::State settle(Transfer& transfer, Rank peer, Duration patience,
                                 const std::function<void()>& meanwhile) = 0;

  // The peer counts as lost: transfers with it end, frames for it are dropped.
  virtual void give_up(Rank peer) = 0;

  // Makes progress; true if there was news.
  virtual bool poll(Client& client) = 0;

  // A descriptor that is readable when there may be news, after arm() returned true; arm() is false if there
  // is news already. Without a descriptor (-1) the caller must poll.
  virtual int descriptor() const = 0;
  virtual bool arm() = 0;

  // Sends what was posted, as far as that is possible in this time.
  virtual void flush(Duration patience) = 0;
};

}  // namespace starling::transport::wire
