// The mean of vectors of which some elements are sent: everybody gets the codes of all and adds them up.
// Places differ between workers, so sums on the way would have ever more elements.
//
// A member sends C (n-1), C being the size of a code, and receives as much.
#pragma once

#include "starling/strategy/compressed/coded_mean.h"

namespace starling::strategy {

class GatheredMean final : public CodedMean {
 public:
  GatheredMean(Worker& self, AgreedExchange& agreed, const compression::Rule& rule,
               const compression::Layout& layout);

  Task<> form(Data meant, double weight, std::uint64_t number, Data mean) override;

 private:
  Task<> exchange(const ExchangeTerms& terms, std::uint64_t number, Data mean);
  void add_all(std::uint64_t number, Data mean) const;

  Worker& self_;
  AgreedExchange& agreed_;
  std::unique_ptr<compression::Compressor> compressor_;
  Buffer own_;  // weight and code
  Buffer all_;  // those of all members
};

}  // namespace starling::strategy
