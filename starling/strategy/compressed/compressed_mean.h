// The mean of all workers' vectors by way of codes, with error feedback at each worker: what its code leaves
// out is added to its next vector.
#pragma once

#include <memory>
#include <string>

#include "starling/strategy/compressed/coded_mean.h"

namespace starling::strategy {

class CompressedMean {
 public:
  // For vectors of this layout. Worker and exchange must outlive it; `name` distinguishes its state in
  // checkpoints.
  CompressedMean(Worker& self, AgreedExchange& agreed, const CompressionRules& rules,
                 const compression::Layout& layout, const std::string& name = "");

  // `data` becomes the mean, the same bits on all workers. The vector of a worker of weight 0 does not count.
  // One worker alone sends nothing, and keeps what it has.
  Task<> of(Data data, double weight = 1);

 private:
  Task<> pass_time(Data data);

  Worker& self_;
  CompressionRules rules_;
  Buffer meant_;  // between two exchanges: what has not been sent
  std::unique_ptr<CodedMean> mean_;
  std::uint64_t number_ = 0;
};

}  // namespace starling::strategy
