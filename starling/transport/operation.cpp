#include "starling/transport/operation.h"

#include "starling/core/error.h"
#include "starling/transport/transport.h"

namespace starling::transport {

Time Operation::deadline() const { return net_.scheduler().now() + net_.patience(); }

void Operation::fail_late() {
  fail(std::make_exception_ptr(Timeout(concat("rank ", net_.rank(), ": ", describe(), ": nothing after ",
                                              format_duration(net_.scheduler().now() - since())))));
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

void Sending::expire() {
  net().withdraw_send(*this);
  fail_late();
}

void Sending::Flight::arrive(Wakeup& self) {
  Sending& sending = static_cast<Flight&>(self).sending;
  sending.net().arrive(sending);
}

Inbound::~Inbound() {
  if (!done()) net().withdraw_recv(*this);
}

void Inbound::expire() {
  net().withdraw_recv(*this);
  fail_late();
}

Receiving::Receiving(Transport& net, Rank from, Tag tag, std::span<std::byte> data)
    : Inbound(net, net.check_rank(from, "receive from"), tag, data.size()), data_(data.data()) {
  net.begin(*this);
}

std::string Receiving::describe() const {
  return concat("message ", tag(), " of ", bytes(), " bytes from rank ", peer());
}

std::span<std::byte> Receiving::room(Rank from, std::size_t size) {
  if (size != bytes()) {
    throw InvalidArgument(concat("rank ", net().rank(), ": message ", tag(), " from rank ", from, " has ",
                                 size, " bytes, the receive expects ", bytes()));
  }
  return {data_, size};
}

ReceivingAny::ReceivingAny(Transport& net, Tag tag) : Inbound(net, kAnyRank, tag, 0) { net.begin(*this); }

std::string ReceivingAny::describe() const { return concat("message ", tag(), " from any rank"); }

std::span<std::byte> ReceivingAny::room(Rank from, std::size_t size) {
  letter_.from = from;
  letter_.bytes.resize(size);
  return letter_.bytes;
}

}  // namespace starling::transport
