#include "starling/strategy/schedule/transfer_scheduler.h"

#include <utility>

#include "starling/core/error.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

TransferScheduler::TransferScheduler(Worker& self, AgreedExchange& agreed, Order order, int window,
                                     Carry carry, const runtime::Context& context)
    : self_(self),
      agreed_(agreed),
      order_(order),
      window_(window),
      carry_(std::move(carry)),
      sender_(self.net()),
      tasks_(context) {}

void TransferScheduler::begin(std::size_t jobs) {
  ready_.clear();
  skipped_.clear();
  for (std::size_t job = 0; job < jobs; ++job) left_.insert(left_.end(), job);
  if (jobs > 0) beside(run_round(), "the order of transfers");
}

void TransferScheduler::offer(std::size_t job) {
  ready_.insert(job);
  changed_.pulse();
}

void TransferScheduler::skip(std::size_t job) {
  skipped_.insert(job);
  left_.erase(job);
  ready_.erase(job);
  changed_.pulse();
  news_.pulse();
}

void TransferScheduler::beside(Task<> task, std::string name) {
  tasks_.spawn(guard(std::move(task)), std::move(name));
}

// All members begin the same transfers in the same order, so the tags are the same.
Tag TransferScheduler::next_tag(const ExchangeTerms& terms) {
  if (std::exchange(epoch_, terms.epoch) != terms.epoch) sequence_ = 0;
  return tag_in(terms.epoch, Channel::kTransfer, sequence_++);
}

Task<> TransferScheduler::guard(Task<> task) {
  try {
    co_await task;
  } catch (...) {
    if (!error_) error_ = std::current_exception();
  }
  news_.pulse();
}

Task<> TransferScheduler::run_round() {
  if (!agreed_.has_views()) co_return co_await begin_all(co_await agreed_.terms());
  while (!left_.empty() || under_way_ > 0) {
    const ExchangeTerms terms = co_await agreed_.terms();
    // Those of the view before come back first.
    while (under_way_ > 0) co_await changed_;
    if (agreed_.in_force(terms.epoch)) co_await begin_until_lost(terms);
  }
}

Task<> TransferScheduler::begin_until_lost(ExchangeTerms terms) {
  runtime::Scope scope(co_await runtime::this_context());
  scope.race();
  scope.spawn(begin_all(terms), "the order of transfers in a view");
  scope.spawn(agreed_.end_of(terms.epoch), "the end of a view");
  try {
    co_await scope.join();
  } catch (const PeerLost&) {  // NOLINT(bugprone-empty-catch): another view follows
  }
}

// With views it waits for their end, too: some may have to be begun again.
Task<> TransferScheduler::begin_all(ExchangeTerms terms) {
  while (!left_.empty() && !error_) {
    std::size_t job = *left_.begin();
    if (order_ == Order::kLeader) {
      const bool leads = self_.rank() == terms.group.ranks().front();
      Task<std::size_t> next = leads ? choose(terms) : hear(terms);
      job = co_await next;
    }
    co_await take_place_for(job);
    left_.erase(job);
    ready_.erase(job);
    ++under_way_;
    beside(carry(job, terms, next_tag(terms)), concat("transfer ", job));
  }
  while (agreed_.has_views() && under_way_ > 0) co_await changed_;
}

Task<> TransferScheduler::take_place_for(std::size_t job) {
  while (!has_room() || ready_.count(job) == 0) co_await changed_;
}

// Chooses as late as possible: something more urgent may become ready until there is room.
Task<std::size_t> TransferScheduler::choose(const ExchangeTerms& terms) {
  while (!has_room() || ready_.empty()) co_await changed_;
  const std::size_t job = *ready_.begin();
  tell_others(self_, sender_, terms.group, tag_in(terms.epoch, Channel::kOrder), job);
  co_return job;
}

// Listens only when this worker has something to transfer: before that it may compute for any time, and no
// worker is late.
Task<std::size_t> TransferScheduler::hear(const ExchangeTerms& terms) {
  while (ready_.empty()) co_await changed_;
  std::uint64_t job = 0;
  co_await self_.net().recv(terms.group.ranks().front(), tag_in(terms.epoch, Channel::kOrder), bytes_of(job));
  co_return static_cast<std::size_t>(job);
}

Task<> TransferScheduler::carry(std::size_t job, ExchangeTerms terms, Tag tag) {
  Task<bool> transfer = carry_(job, terms, tag);
  if (!co_await transfer && skipped_.count(job) == 0) {
    left_.insert(job);
    ready_.insert(job);
  }
  --under_way_;
  changed_.pulse();
}

}  // namespace starling::strategy
