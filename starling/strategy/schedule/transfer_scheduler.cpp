#include "starling/strategy/schedule/transfer_scheduler.h"

#include <utility>

#include "starling/core/text.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

TransferScheduler::TransferScheduler(Worker& self, Order order, int window, Carry carry,
                                     const runtime::Context& context)
    : self_(self),
      group_(self.everyone()),
      everyone_(group_),
      order_(order),
      window_(window),
      carry_(std::move(carry)),
      sender_(self.net()),
      tasks_(context) {}

void TransferScheduler::begin(std::size_t jobs) {
  ready_.clear();
  if (jobs > 0) beside(run_round(jobs), "the order of transfers");
}

void TransferScheduler::offer(std::size_t job) {
  ready_.insert(job);
  changed_.pulse();
}

void TransferScheduler::beside(Task<> task, std::string name) {
  tasks_.spawn(guard(std::move(task)), std::move(name));
}

Tag TransferScheduler::next_tag() { return tag_of(Channel::kTransfer, sequence_++); }

Task<> TransferScheduler::guard(Task<> task) {
  try {
    co_await task;
  } catch (...) {
    if (!error_) error_ = std::current_exception();
  }
  news_.pulse();
}

Task<> TransferScheduler::run_round(std::size_t jobs) {
  for (std::size_t i = 0; i < jobs && !error_; ++i) {
    std::size_t job = i;
    if (order_ == Order::kLeader) {
      Task<std::size_t> next = leads() ? choose() : hear();
      job = co_await next;
    }
    co_await take_place_for(job);
    ready_.erase(job);
    ++under_way_;
    beside(carry(job, next_tag()), concat("transfer ", job));
  }
}

Task<> TransferScheduler::take_place_for(std::size_t job) {
  while (!has_room() || ready_.count(job) == 0) co_await changed_;
}

// Chooses as late as possible: something more urgent may become ready until there is room.
Task<std::size_t> TransferScheduler::choose() {
  while (!has_room() || ready_.empty()) co_await changed_;
  const std::size_t job = *ready_.begin();
  tell_others(self_, sender_, everyone_, tag_of(Channel::kOrder), job);
  co_return job;
}

// Listens only when this worker has something to transfer: before that it may compute for any time, and no
// worker is late.
Task<std::size_t> TransferScheduler::hear() {
  while (ready_.empty()) co_await changed_;
  std::uint64_t job = 0;
  co_await self_.net().recv(everyone_.front(), tag_of(Channel::kOrder), bytes_of(job));
  co_return static_cast<std::size_t>(job);
}

Task<> TransferScheduler::carry(std::size_t job, Tag tag) {
  Task<> transfer = carry_(job, tag);
  co_await transfer;
  --under_way_;
  changed_.pulse();
}

}  // namespace starling::strategy
