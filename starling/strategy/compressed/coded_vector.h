// A vector that one member sends to another as a code, on either side.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "starling/compression/error_feedback.h"
#include "starling/strategy/compressed/compression_options.h"
#include "starling/strategy/worker.h"

namespace starling::strategy {

class CodedVector {
 public:
  // Both sides have the same rule, layout and seed, and count the same codes.
  CodedVector(Member& self, const compression::Rule& rule, const compression::Layout& layout,
              std::uint64_t seed);
  // On the side that encodes, once: `name` distinguishes its state in checkpoints.
  void keep_residual(const std::string& name);

  // What travels.
  Data code() const { return code_.data; }

  // Before a vector is encoded: where time is simulated, it takes what encoding and decoding take.
  Task<> pass_time();
  void encode(Data values, std::uint64_t number);
  // A code of zeros, which takes nothing of the residual.
  void encode_nothing();
  void decode(std::uint64_t number, Data values) const;
  void add_to(Data values, std::uint64_t number) const;

 private:
  std::span<std::byte> used() const { return code_.data.span().first(compressor_->code_bytes()); }

  Member& self_;
  double copies_;
  std::size_t count_;
  std::unique_ptr<compression::Compressor> compressor_;
  std::optional<compression::ErrorFeedback> feedback_;
  Buffer code_;
};

}  // namespace starling::strategy
