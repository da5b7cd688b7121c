// Pairs messages that arrived with receives that were posted, in order. Shared by the transports that do
// their own matching.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "starling/core/types.h"
#include "starling/runtime/list.h"
#include "starling/transport/operation.h"

namespace starling::transport {

// A message whose receive has not been posted yet.
class Arrival : public runtime::Hook<Arrival> {
 public:
  Arrival(Rank from, Tag tag, std::size_t bytes) : from_(from), tag_(tag), bytes_(bytes) {}
  virtual ~Arrival() = default;

  Rank from() const { return from_; }
  Tag tag() const { return tag_; }
  std::size_t bytes() const { return bytes_; }
  virtual bool ghost() const { return false; }

  // Moves the message into the receive and completes it; a wrong size fails it. A message that is still
  // coming in takes the receive out of the matcher and completes it later. False if the sender has withdrawn
  // the message: the receive then goes on waiting.
  virtual bool give(Inbound& receiving);

  // False if the sender has withdrawn the message; `target` may be overwritten all the same.
  virtual bool read(std::span<std::byte> target) = 0;
  // The message will probably be read into `target`: work that can be done in advance is done now. Empty:
  // probably not any more.
  virtual void expect(std::span<std::byte> target) { static_cast<void>(target); }
  // The message will not be read: its size was wrong.
  virtual void discard() {}

 private:
  Rank from_;
  Tag tag_;
  std::size_t bytes_;
};

// A message that was copied when it arrived; for a ghost only the size is stored.
class KeptArrival final : public Arrival {
 public:
  KeptArrival(Rank from, Tag tag, std::span<const std::byte> data)
      : Arrival(from, tag, data.size()), ghost_(is_ghost(data)) {
    if (!ghost_) data_.assign(data.begin(), data.end());
  }
  KeptArrival(Rank from, Tag tag, std::vector<std::byte> data)
      : Arrival(from, tag, data.size()), data_(std::move(data)) {}
  bool ghost() const override { return ghost_; }
  bool read(std::span<std::byte> target) override;

 private:
  bool ghost_ = false;
  std::vector<std::byte> data_;
};

class Matcher {
 public:
  ~Matcher();

  // The receive that a message of (from, tag) belongs to, or null. It stays posted.
  Inbound* find(Rank from, Tag tag);

  // Gives the message to the receive that waits for it, or stores it: behind those that came before, or in
  // front of them if its receive was taken back.
  enum class Turn { kLast, kFirst };
  void deliver(std::unique_ptr<Arrival> arrival, Turn turn = Turn::kLast);

  // Gives the receive the first message that fits, or stores the receive until one comes. True if it has one.
  bool post(Inbound& receiving);

  // Ends the receives for which `error` returns one.
  template <class ErrorOf>
  void fail_if(ErrorOf error_of) {
    for (auto& bucket : buckets_) {
      std::vector<std::pair<Inbound*, std::exception_ptr>> failed;
      bucket.posted.for_each([&](Operation& operation) {
        auto& receiving = static_cast<Inbound&>(operation);
        if (std::exception_ptr error = error_of(receiving)) failed.emplace_back(&receiving, error);
      });
      for (auto& [receiving, error] : failed) receiving->fail(error);
    }
  }

 private:
  struct Bucket {
    Operation::Queue posted;
    runtime::List<Arrival, Arrival> arrived;
  };
  Bucket& bucket(Tag tag) { return buckets_[(tag * 0x9e3779b97f4a7c15ULL) >> 58]; }

  std::array<Bucket, 64> buckets_;
};

// Moves bytes that are in memory into a receive and completes it; a wrong size fails it.
void hand_over(Rank from, std::span<const std::byte> data, Inbound& receiving);

}  // namespace starling::transport
