// Sends and receives as objects of the caller's frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "starling/core/types.h"
#include "starling/runtime/wait.h"
#include "starling/transport/network.h"

namespace starling::transport {

class Transport;

inline constexpr Rank kAnyRank = -1;

// A message whose sender and size the receiver did not know. Meant for small control messages.
struct Letter {
  Rank from = kAnyRank;
  std::vector<std::byte> bytes;
};

// Common to sends and receives: pending until the transport completes or fails it.
class Operation : public runtime::Wait {
 public:
  Rank peer() const { return peer_; }
  Tag tag() const { return tag_; }
  std::size_t bytes() const { return bytes_; }
  Transport& net() const { return net_; }

  bool await_ready() const { return done_; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) {
    begin(self, deadline());
  }

  // For transports.
  bool done() const { return done_; }
  void complete() {
    done_ = true;
    unqueue();
    if (waiting()) wake();
  }
  void fail(std::exception_ptr error) {
    error_ = std::move(error);
    complete();
  }

 protected:
  Operation(Transport& net, Rank peer, Tag tag, std::size_t bytes)
      : net_(net), peer_(peer), tag_(tag), bytes_(bytes) {}

  void check() const {
    if (error_) std::rethrow_exception(error_);
  }
  Time deadline() const;
  void fail_late();  // with a Timeout that names what was waited for

 private:
  Transport& net_;
  Rank peer_;
  Tag tag_;
  std::size_t bytes_;
  bool done_ = false;
  std::exception_ptr error_;
};

// Done when the buffer may be reused; the receiver may not have asked for the message yet.
class [[nodiscard]] Sending final : public Operation {
 public:
  Sending(Transport& net, Rank to, Tag tag, std::span<const std::byte> data);
  ~Sending() override;
  std::string describe() const override;
  void await_resume() const { check(); }

  std::span<const std::byte> data() const { return {data_, bytes()}; }

  // The transport's own notes about a message under way.
  struct Flight : Transfer {
    explicit Flight(Sending& owner) : Transfer(&Flight::arrive), sending(owner) {}
    static void arrive(Wakeup& self);
    Sending& sending;
  };
  Flight flight{*this};
  std::uint64_t ticket = 0;

 private:
  void expire() override;
  const std::byte* data_;
};

// What a matcher hands a message to.
class Inbound : public Operation {
 public:
  using Operation::Operation;
  // Where a message of this size shall be written. Throws if it does not fit.
  virtual std::span<std::byte> room(Rank from, std::size_t bytes) = 0;

 protected:
  ~Inbound() override;

 private:
  void expire() override;
};

class [[nodiscard]] Receiving final : public Inbound {
 public:
  Receiving(Transport& net, Rank from, Tag tag, std::span<std::byte> data);
  std::string describe() const override;
  std::span<std::byte> room(Rank from, std::size_t bytes) override;
  void await_resume() const { check(); }

 private:
  std::byte* data_;
};

class [[nodiscard]] ReceivingAny final : public Inbound {
 public:
  ReceivingAny(Transport& net, Tag tag);
  std::string describe() const override;
  std::span<std::byte> room(Rank from, std::size_t bytes) override;
  Letter await_resume() {
    check();
    return std::move(letter_);
  }

 private:
  Letter letter_;
};

}  // namespace starling::transport
