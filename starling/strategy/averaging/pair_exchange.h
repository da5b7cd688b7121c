// The part of a worker that communicates while the worker computes: a model of its own, y, which it averages
// with that of one other worker at a time.
//
//   y_i, y_j <- (y_i + y_j) / 2
//
// Both sides use the same two snapshots, and add half of their difference instead of setting the mean:
// changes by a worker's own gradient between snapshot and average are not lost, and the sum of all models
// stays.
//
// The worker that begins asks, is granted the exchange or refused, sends its snapshot, and receives that of
// the other, which has averaged by then. So when the worker that begins is done, both are.
//
// A worker is in one exchange at a time; others queue for their turn. An exchange that needs two turns takes
// the one of the lower rank first: waits go from lower to higher ranks only, never in a circle.
//
// Bytes of an exchange: M each way, and 8 + 1 to ask and to grant. With a partner that is lost or has
// finished there is no exchange.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "starling/runtime/event.h"
#include "starling/strategy/worker.h"

namespace starling::strategy {

class PairExchange {
 public:
  // y begins as the worker's parameters x, or with its old value when a run continues. The worker must
  // outlive it.
  explicit PairExchange(Worker& self);

  // Begins an exchange and returns when it is over on both sides. False: the partner no longer takes part in
  // exchanges, because it has finished or is lost. May run while the worker computes; one at a time.
  Task<bool> with(Rank partner);

  // Takes part in the exchanges that others begin. Ends when no other worker is left.
  static Task<> answer(std::shared_ptr<PairExchange> exchange);

  // x <- y, the worker's update of x, y <- x. Exchanges go on meanwhile; only their result waits for the end
  // of the update.
  Task<> step();

  // Waits for the exchange in progress; afterwards x has all that y had, and requests are refused.
  Task<> finish();

  // Whether the worker computes: waiting for others is in the background then.
  void computing() { computed_.reset(); }
  void computed() { computed_ = self_.now(); }

 private:
  // A position in the queue of exchanges with this worker; its destructor leaves the queue.
  class Turn {
   public:
    Turn(PairExchange& exchange, Rank with) : partner(with), exchange_(exchange) {
      exchange_.turns_.push_back(this);
    }
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool come() const { return exchange_.turns_.front() == this; }

    const Rank partner;

   private:
    PairExchange& exchange_;
  };

  Task<> wait_for(const Turn& turn);
  Task<bool> ask(Rank partner, std::uint64_t round);
  Task<> swap_as_first(Rank partner, std::uint64_t round);
  Task<> reply(Rank to, std::uint64_t round);
  Task<> hold(const Turn& turn);
  Task<> swap_as_second(Rank partner, std::uint64_t round);
  Task<> average();

  Worker& self_;
  Buffer y_;
  Buffer own_;    // the snapshots of the exchange whose turn it is
  Buffer other_;  // likewise
  std::deque<Turn*> turns_;
  runtime::Event next_turn_{"an exchange with another worker to end"};
  runtime::Event updated_{"the update by the training program", runtime::Event::Kind::kRare};
  std::optional<Time> computed_;
  std::uint64_t rounds_ = 0;  // begun by this worker
  bool finished_ = false;
};

}  // namespace starling::strategy
