// Sends small messages without waiting for them. They leave at once, in order; one to a lost rank is dropped.
// Messages still in flight when the sender is destroyed are withdrawn.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "starling/transport/transport.h"

namespace starling::coordination {

class AsyncSender {
 public:
  explicit AsyncSender(transport::Transport& net) : net_(net) {}

  void send(Rank to, Tag tag, std::vector<std::byte> bytes) {
    while (!parcels_.empty() && parcels_.front().sending.done()) parcels_.pop_front();
    parcels_.emplace_back(net_, to, tag, std::move(bytes));
  }

 private:
  struct Parcel {
    Parcel(transport::Transport& net, Rank to, Tag tag, std::vector<std::byte> content)
        : bytes(std::move(content)), sending(net, to, tag, bytes) {}
    std::vector<std::byte> bytes;
    transport::Sending sending;
  };

  transport::Transport& net_;
  std::deque<Parcel> parcels_;
};

}  // namespace starling::coordination
