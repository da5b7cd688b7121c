// Error feedback: what a code leaves out is added to the next vector (Seide et al., "1-bit stochastic
// gradient descent", Interspeech 2014; Karimireddy et al., "Error feedback fixes SignSGD", ICML'19):
//
//   c <- C(x + e);   e <- x + e - decoded c
//
// So nothing is lost, only late: sent + residual = what was meant. For kinds that send some elements as they
// are, and for those that round to nearest, this holds bit for bit; for the others up to a rounding.
#pragma once

#include "starling/compression/compressor.h"

namespace starling::compression {

class ErrorFeedback {
 public:
  // The compressor must outlive it.
  ErrorFeedback(Compressor& compressor, std::size_t count) : compressor_(compressor), residual_(count) {}

  // The code of values + residual.
  void encode(std::span<const float> values, std::uint64_t number, std::span<std::byte> code);

  // Gives back what was sent in vain.
  void restore(std::span<const std::byte> code, std::uint64_t number) {
    compressor_.add(code, number, 1, residual_);
  }

  // For checkpoints.
  std::span<float> residual() { return residual_; }

 private:
  Compressor& compressor_;
  std::vector<float> residual_;
};

}  // namespace starling::compression
