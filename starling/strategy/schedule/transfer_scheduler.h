// Runs numbered transfers that all workers make together, a few at a time, beside other work. All workers
// must take the same one next, or workers without room for more would wait for each other's: either the
// numbers are the order, or one worker, the leader, takes the lowest of those that it is ready for, whenever
// it has room, and informs the others, which follow.
//
// When a worker is lost, transfers that have not taken place are ready again, and the members of the new view
// take them up in an order of their own. A transfer that fails otherwise ends the scheduler; check() throws
// the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <set>
#include <string>

#include "starling/coordination/async_sender.h"
#include "starling/runtime/event.h"
#include "starling/runtime/scope.h"
#include "starling/strategy/agreed_exchange.h"

namespace starling::strategy {

class TransferScheduler {
 public:
  enum class Order { kNumbers, kLeader };
  // The tag is used by this transfer only. False: it has not taken place (AgreedExchange::attempt).
  using Carry = std::function<Task<bool>(std::size_t job, const ExchangeTerms& terms, Tag tag)>;

  // `agreed` must outlive it.
  TransferScheduler(Worker& self, AgreedExchange& agreed, Order order, int window, Carry carry,
                    const runtime::Context& context);

  // A round of transfers 0 to jobs-1, each once. The round before must be over.
  void begin(std::size_t jobs);
  // This worker is ready for the transfer.
  void offer(std::size_t job);

  // What the transfer would have brought is here: it is not begun any more.
  void skip(std::size_t job);

  // Runs the task beside the transfers and treats its errors as theirs.
  void beside(Task<> task, std::string name);
  // Pulses when a transfer has ended or failed.
  runtime::Event& news() { return news_; }
  // Throws the first error.
  void check() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  bool has_room() const { return under_way_ < window_; }
  Task<> run_round();
  Task<> begin_all(ExchangeTerms terms);
  Task<> begin_until_lost(ExchangeTerms terms);
  Task<> take_place_for(std::size_t job);
  Task<std::size_t> choose(const ExchangeTerms& terms);
  Task<std::size_t> hear(const ExchangeTerms& terms);
  Task<> carry(std::size_t job, ExchangeTerms terms, Tag tag);
  Task<> guard(Task<> task);
  Tag next_tag(const ExchangeTerms& terms);

  Worker& self_;
  AgreedExchange& agreed_;
  Order order_;
  int window_;
  Carry carry_;
  coordination::AsyncSender sender_;
  std::set<std::size_t> left_;   // of this round, not begun
  std::set<std::size_t> ready_;  // offered and not begun
  std::set<std::size_t> skipped_;
  int under_way_ = 0;
  std::uint64_t sequence_ = 0;  // of transfers in the view of this epoch
  std::uint64_t epoch_ = 1;
  std::exception_ptr error_;
  runtime::Event changed_{"a transfer to be ready"};
  runtime::Event news_{"a transfer to arrive"};
  runtime::Scope tasks_;  // goes first: its tasks use the rest
};

}  // namespace starling::strategy
