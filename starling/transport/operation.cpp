#include "starling/transport/operation.h"

#include "starling/core/error.h"
#include "starling/transport/transport.h"

namespace starling::transport {

Time OperationWait::deadline() const {
  return operation_->net().scheduler().now() + operation_->net().patience();
}

std::string OperationWait::describe() const {
  return operation_ != nullptr ? operation_->describe() : "an operation that no longer exists";
}

bool OperationWait::may_stall() const { return operation_ != nullptr && operation_->idle_ == Idle::kNo; }

void OperationWait::expire() { operation_->expire(context().scheduler->now() - since()); }

Operation& OperationWait::finished() const {
  if (operation_ == nullptr) throw Error("the operation was destroyed while it was awaited");
  return *operation_;
}

Operation::~Operation() {
  while (!waits_.empty()) {
    auto& wait = static_cast<OperationWait&>(waits_.front());
    wait.operation_ = nullptr;
    wait.wake();
  }
}

void Operation::complete() {
  done_ = true;
  unlink();
  while (!waits_.empty()) waits_.front().wake();
}

void Operation::fail_late(Duration waited) {
  fail(std::make_exception_ptr(
      Timeout(concat("rank ", net_.rank(), ": ", describe(), ": nothing after ", format_duration(waited)))));
}

Sending::Sending(Transport& net, Rank to, Tag tag, std::span<const std::byte> data)
    : Operation(net, to, tag, data.size()), data_(data.data()) {
  net.begin(*this);
}

Sending::~Sending() {
  if (!done()) net().withdraw_send(*this);
}

std::string Sending::describe() const {
  return concat("rank ", peer(), " to take message ", tag(), " of ", bytes(), " bytes");
}

void Sending::expire(Duration waited) {
  net().withdraw_send(*this);
  fail_late(waited);
}

void Sending::Flight::arrive(Wakeup& self) {
  Sending& sending = static_cast<Flight&>(self).sending;
  sending.net().arrive(sending);
}

Inbound::~Inbound() {
  if (!done()) net().withdraw_recv(*this);
}

void Inbound::expire(Duration waited) {
  net().withdraw_recv(*this);
  fail_late(waited);
}

void Inbound::refuse_ghost(Rank from, std::size_t size) const {
  throw InvalidArgument(concat("rank ", net().rank(), ": message ", tag(), " of ", size, " bytes from rank ",
                               from, " has a size and no memory, the receive wants its bytes"));
}

Receiving::Receiving(Transport& net, Rank from, Tag tag, std::span<std::byte> data, Idle idle)
    : Inbound(net, net.check_rank(from, "receive from"), tag, data.size(), idle), data_(data.data()) {
  net.begin(*this);
}

std::string Receiving::describe() const {
  return concat("message ", tag(), " of ", bytes(), " bytes from rank ", peer());
}

std::span<std::byte> Receiving::room(Rank from, std::size_t size, bool ghost_message) {
  if (size != bytes()) {
    throw InvalidArgument(concat("rank ", net().rank(), ": message ", tag(), " from rank ", from, " has ",
                                 size, " bytes, the receive expects ", bytes()));
  }
  if (ghost_message && !ghost()) refuse_ghost(from, size);
  return {data_, size};
}

ReceivingAny::ReceivingAny(Transport& net, Tag tag, Idle idle) : Inbound(net, kAnyRank, tag, 0, idle) {
  net.begin(*this);
}

std::string ReceivingAny::describe() const { return concat("message ", tag(), " from any rank"); }

std::span<std::byte> ReceivingAny::room(Rank from, std::size_t size, bool ghost_message) {
  if (ghost_message) refuse_ghost(from, size);
  letter_.from = from;
  letter_.bytes.resize(size);
  return letter_.bytes;
}

}  // namespace starling::transport
