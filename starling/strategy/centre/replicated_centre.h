// The centre of synchronous elastic averaging: all workers exchange with it at once, and everybody has a
// copy.
//
//   D = alpha sum_i (x_i - c);   c <- c + D;   x_i <- x_i - alpha (x_i - c as it was)
//
// The sum is an all-reduce, which takes the place of a reduction to a master and a broadcast. It is taken in
// a fixed order, so all copies have the same bits, in every run. When workers are lost the others agree
// whether an exchange took place.
//
// Bytes sent per worker and exchange: those of an all-reduce of M.
#pragma once

#include <optional>

#include "starling/strategy/agreed_exchange.h"
#include "starling/strategy/centre/centre.h"

namespace starling::strategy {

class ReplicatedCentre final : public Centre {
 public:
  // `computed`: when the worker's present step was computed; none while it computes. Both must outlive this.
  ReplicatedCentre(Worker& self, collective::Choice algorithm, const std::optional<Time>& computed);

  Task<> pull(Data model, float alpha, Data difference) override;
  Task<> leave() override { return agreed_.finish(); }

 private:
  Worker& self_;
  collective::Choice algorithm_;
  const std::optional<Time>& computed_;
  AgreedExchange agreed_;
  Buffer centre_;
  Buffer sum_;
  std::uint64_t round_ = 0;
};

}  // namespace starling::strategy
