// PowerSGD (Vogels, Karimireddy and Jaggi, "PowerSGD: practical low-rank gradient compression for distributed
// optimization", NeurIPS'19): a matrix M is sent as P Q^T of rank r,
//
//   P <- M Q;   orthonormalise the columns of P;   Q <- M^T P
//
// which is one step of the power iteration towards the r largest singular values. The next vector begins with
// the Q of the last (warm start). A matrix takes r (rows + columns) numbers instead of rows x columns;
// tensors that would not become twice as small, biases among them, are sent as they are.
//
// P and Q are linear in M: with the mean of all workers' P, and then of their Q, the result is that of the
// mean matrix. The steps can be called one by one for that.
//
// Sums are formed in a fixed order, whatever the processor.
#pragma once

#include "starling/compression/compressor.h"

namespace starling::compression {

struct Parameters;
// "powersgd:RANK". Throws InvalidArgument.
std::size_t rank_of(const Parameters& parameters);

class PowerSgd final : public Compressor {
 public:
  // Those with the same seed begin with the same Q.
  PowerSgd(const Layout& layout, std::size_t rank, std::uint64_t seed);

  std::size_t code_bytes() const override { return (left_count() + right_count()) * sizeof(float); }
  void encode(std::span<const float> values, std::uint64_t number, std::span<std::byte> code) override;
  void add(std::span<const std::byte> code, std::uint64_t number, float factor,
           std::span<float> values) const override;
  std::span<float> state() override { return start_; }

  // The left side is every P, and the elements that are sent as they are. The right side is every Q.
  std::size_t left_count() const { return left_count_; }
  std::size_t right_count() const { return start_.size(); }
  void make_left(std::span<const float> values, std::span<float> left);
  void orthonormalise_left(std::span<float> left) const;
  void make_right(std::span<const float> values, std::span<const float> left, std::span<float> right) const;
  // values += factor * (the decoded vector)
  void expand(std::span<const float> left, std::span<const float> right, float factor,
              std::span<float> values) const;
  // The elements that are sent as they are become 0.
  void clear_plain(std::span<float> values) const;
  // What the next vector begins with.
  void start_from(std::span<const float> right) { std::copy(right.begin(), right.end(), start_.begin()); }

 private:
  struct Part {
    TensorShape shape;
    std::size_t rank = 0;  // 0: sent as it is
    std::size_t left = 0;  // where its numbers begin
    std::size_t right = 0;
  };
  void prepare_start();

  std::vector<Part> parts_;
  std::size_t left_count_ = 0;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  std::vector<float> start_;  // every Q, column by column
};

}  // namespace starling::compression
