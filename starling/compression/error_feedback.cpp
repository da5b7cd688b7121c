#include "starling/compression/error_feedback.h"

#include <cassert>

namespace starling::compression {

void ErrorFeedback::encode(std::span<const float> values, std::uint64_t number, std::span<std::byte> code) {
  assert(values.size() == residual_.size());
  for (std::size_t i = 0; i < values.size(); ++i) residual_[i] += values[i];
  compressor_.encode(residual_, number, code);
  compressor_.add(code, number, -1, residual_);
}

}  // namespace starling::compression
