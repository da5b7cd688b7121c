// Sends and receives as objects of the caller's frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "starling/core/types.h"
#include "starling/runtime/wait.h"
#include "starling/transport/network.h"

namespace starling::transport {

class Transport;

inline constexpr Rank kAnyRank = -1;

// A message may have a size and no memory, so that simulations of large models need none. Simulated ranks
// exchange ghosts as they exchange bytes: they are matched, counted and take their time; nothing is copied.
inline bool is_ghost(std::span<const std::byte> data) { return data.data() == nullptr && !data.empty(); }

// A message whose sender and size the receiver did not know. Meant for small control messages.
struct Letter {
  Rank from = kAnyRank;
  std::vector<std::byte> bytes;
};

// Whether a wait may rightly be long, as that of a service without work. Other long waits are logged.
enum class Idle : bool { kNo, kYes };

class Operation;

// The wait for an operation, in the frame of the task that awaits it: a task that is cancelled while it waits
// leaves the operation as it is. The deadline counts from here.
class OperationWait : public runtime::Wait {
 public:
  explicit OperationWait(Operation& operation) : operation_(&operation) {}
  std::string describe() const override;
  bool may_stall() const override;
  bool await_ready() const;
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self);

 protected:
  Operation& finished() const;

 private:
  friend class Operation;
  Time deadline() const;
  void expire() override;

  Operation* operation_;  // null: it was destroyed while we waited
};

template <class Kind>
class OperationAwaiter final : public OperationWait {
 public:
  using OperationWait::OperationWait;
  decltype(auto) await_resume() const { return static_cast<Kind&>(finished()).result(); }
};

// Common to sends and receives: pending until the transport completes or fails it.
class Operation : public runtime::Hook<Operation> {
 public:
  using Queue = runtime::List<Operation, Operation>;

  virtual ~Operation();

  // Names what is waited for, as a noun.
  virtual std::string describe() const = 0;
  // The deadline of a wait has passed: takes it back from the transport and fails it with Timeout.
  virtual void expire(Duration waited) = 0;

  Rank peer() const { return peer_; }
  Tag tag() const { return tag_; }
  std::size_t bytes() const { return bytes_; }
  Transport& net() const { return net_; }

  // For transports.
  bool done() const { return done_; }
  void complete();
  void fail(std::exception_ptr error) {
    error_ = std::move(error);
    complete();
  }

 protected:
  Operation(Transport& net, Rank peer, Tag tag, std::size_t bytes, Idle idle = Idle::kNo)
      : net_(net), peer_(peer), tag_(tag), bytes_(bytes), idle_(idle) {}

  void check() const {
    if (error_) std::rethrow_exception(error_);
  }
  void fail_late(Duration waited);

 private:
  friend class OperationWait;

  Transport& net_;
  Rank peer_;
  Tag tag_;
  std::size_t bytes_;
  Idle idle_;
  bool done_ = false;
  std::exception_ptr error_;
  runtime::Wait::Queue waits_;
};

// Done when the buffer may be reused; the receiver may not have asked for the message yet.
class [[nodiscard]] Sending final : public Operation {
 public:
  Sending(Transport& net, Rank to, Tag tag, std::span<const std::byte> data);
  ~Sending() override;
  std::string describe() const override;
  void expire(Duration waited) override;
  OperationAwaiter<Sending> operator co_await() { return OperationAwaiter<Sending>(*this); }
  void result() const { check(); }

  std::span<const std::byte> data() const { return {data_, bytes()}; }
  bool ghost() const { return is_ghost(data()); }

  // The transport's own state for a message in flight.
  struct Flight : Transfer {
    explicit Flight(Sending& owner) : Transfer(&Flight::arrive), sending(owner) {}
    static void arrive(Wakeup& self);
    Sending& sending;
    Queue* link = nullptr;  // its queue among the messages to the same rank
    Time arrives{};         // on an emulated link, once it has left
  };
  Flight flight{*this};
  std::uint64_t ticket = 0;

 private:
  const std::byte* data_;
};

// The receive that a matcher hands a message to.
class Inbound : public Operation {
 public:
  using Operation::Operation;
  void expire(Duration waited) override;
  // Returns the memory for a message of this size. Throws if it does not fit, or if the message is a ghost
  // and the receive has memory that it would leave unwritten.
  virtual std::span<std::byte> room(Rank from, std::size_t bytes, bool ghost) = 0;
  virtual bool ghost() const { return false; }

 protected:
  ~Inbound() override;
  [[noreturn]] void refuse_ghost(Rank from, std::size_t bytes) const;
};

class [[nodiscard]] Receiving final : public Inbound {
 public:
  Receiving(Transport& net, Rank from, Tag tag, std::span<std::byte> data, Idle idle = Idle::kNo);
  std::string describe() const override;
  std::span<std::byte> room(Rank from, std::size_t bytes, bool ghost) override;
  bool ghost() const override { return is_ghost({data_, bytes()}); }
  OperationAwaiter<Receiving> operator co_await() { return OperationAwaiter<Receiving>(*this); }
  void result() const { check(); }

 private:
  std::byte* data_;
};

class [[nodiscard]] ReceivingAny final : public Inbound {
 public:
  ReceivingAny(Transport& net, Tag tag, Idle idle = Idle::kNo);
  std::string describe() const override;
  std::span<std::byte> room(Rank from, std::size_t bytes, bool ghost) override;
  OperationAwaiter<ReceivingAny> operator co_await() { return OperationAwaiter<ReceivingAny>(*this); }
  Letter result() {
    check();
    return std::move(letter_);
  }

 private:
  Letter letter_;
};

inline bool OperationWait::await_ready() const { return operation_->done_; }

template <class Promise>
void OperationWait::await_suspend(std::coroutine_handle<Promise> self) {
  begin(self, deadline());
  operation_->waits_.push_back(*this);
}

}  // namespace starling::transport
