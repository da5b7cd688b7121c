#include "starling/compression/randk.h"

#include <utility>

#include "starling/compression/topk.h"
#include "starling/core/random.h"

namespace starling::compression {

RandK::RandK(std::size_t count, double ratio, std::uint64_t seed, std::unique_ptr<Compressor> inner)
    : count_(count), sent_(share_of(count, ratio)), seed_(seed), inner_(std::move(inner)) {}

std::size_t RandK::code_bytes() const { return inner_ ? inner_->code_bytes() : sent_ * sizeof(float); }

std::vector<std::uint32_t> RandK::places(std::uint64_t number) const {
  Random random = Random(seed_).fork(number);
  std::vector<std::uint32_t> places(sent_);
  for (std::size_t i = 0; i < sent_; ++i) {
    const Slice part = slice_of(count_, sent_, i);
    places[i] = static_cast<std::uint32_t>(part.begin + random.below(part.size()));
  }
  return places;
}

void RandK::encode(std::span<const float> values, std::uint64_t number, std::span<std::byte> code) {
  std::vector<float> chosen(sent_);
  const std::vector<std::uint32_t> from = places(number);
  for (std::size_t i = 0; i < sent_; ++i) chosen[i] = values[from[i]];
  if (inner_) return inner_->encode(chosen, number, code);
  write_numbers<float>(chosen, code);
}

void RandK::add(std::span<const std::byte> code, std::uint64_t number, float factor,
                std::span<float> values) const {
  std::vector<float> chosen(sent_);
  if (inner_) {
    inner_->decode(code, number, chosen);
  } else {
    chosen = read_numbers<float>(code, sent_);
  }
  const std::vector<std::uint32_t> to = places(number);
  for (std::size_t i = 0; i < sent_; ++i) values[to[i]] += factor * chosen[i];
}

}  // namespace starling::compression
