// How all workers form the weighted mean of their vectors when they send codes of them. All end with the same
// bits. One class for each way:
//
//   every element in fewer bits   dense_mean.h: two halves of an all-reduce, whose messages are codes; the
//   sums
//                                 are formed of floats, and rounded once
//   some elements                 gathered_mean.h: everybody gets the codes of all
//   factors                       low_rank_mean.h: an all-reduce of one factor, then of the other
#pragma once

#include <memory>
#include <string>

#include "starling/strategy/agreed_exchange.h"
#include "starling/strategy/compressed/compression_options.h"

namespace starling::strategy {

class CodedMean {
 public:
  virtual ~CodedMean() = default;

  // `meant` is this worker's vector, and becomes what has not been sent of it. `mean` becomes the mean of
  // what all have sent. A worker of weight 0 sends nothing, and its vector stays. The numbers of exchanges
  // rise.
  virtual Task<> form(Data meant, double weight, std::uint64_t number, Data mean) = 0;
};

// For vectors of this layout. Everything must outlive it; `name` distinguishes its state in checkpoints.
std::unique_ptr<CodedMean> make_coded_mean(Worker& self, AgreedExchange& agreed,
                                           const compression::Rule& rule, const compression::Layout& layout,
                                           const std::string& name);

// The algorithm for an AgreedExchange of codes: one whose results are kept for those who miss them.
inline constexpr collective::Algorithm kCodedAlgorithm = collective::Algorithm::kRing;

}  // namespace starling::strategy
