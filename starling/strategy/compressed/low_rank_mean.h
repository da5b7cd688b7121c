// The mean of vectors by PowerSGD: the mean of all workers' P, orthonormalised, then the mean of all Q. What
// the next exchange begins with is the mean Q, the same on all.
//
// What a worker has not sent is the difference to P Q^T with its own Q. With the mean Q it would also collect
// how far the worker is from the others, for ever.
//
// A member sends what two all-reduces of r (rows + columns) numbers for each matrix take.
#pragma once

#include "starling/compression/powersgd.h"
#include "starling/strategy/compressed/coded_mean.h"

namespace starling::strategy {

class LowRankMean final : public CodedMean {
 public:
  LowRankMean(Worker& self, AgreedExchange& agreed, const compression::Rule& rule,
              const compression::Layout& layout, const std::string& name);

  Task<> form(Data meant, double weight, std::uint64_t number, Data mean) override;

 private:
  void take_up(Data meant, double weight, Data mean);

  Worker& self_;
  AgreedExchange& agreed_;
  compression::PowerSgd factors_;
  Buffer left_;
  Buffer right_;
  Buffer own_right_;
};

}  // namespace starling::strategy
