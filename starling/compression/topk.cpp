#include "starling/compression/topk.h"

#include <bit>
#include <cmath>
#include <functional>
#include <utility>

namespace starling::compression {

namespace {

constexpr std::size_t kSmall = 4096;   // elements that are compared without a sample
constexpr std::size_t kSample = 2048;  // elements of a sample, at least

// In the order of the magnitudes; NaN is above all.
std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffU; }

// A magnitude that, most probably, at least `count` elements have, and not many more. The places of the
// sample are spread by the golden ratio, so that they follow no rows.
std::uint32_t guess_threshold(std::span<const float> values, std::size_t count) {
  const std::size_t size = std::max(kSample, values.size() / 256);
  std::vector<std::uint32_t> sample(size);
  std::uint64_t spread = 0;
  for (std::uint32_t& one : sample) {
    spread += 0x9e3779b97f4a7c15U;
    const std::size_t place = static_cast<std::size_t>((spread >> 32) * values.size() >> 32);
    one = magnitude(values[place]);
  }
  const double expected =
      static_cast<double>(size) * static_cast<double>(count) / static_cast<double>(values.size());
  const auto rank = static_cast<std::size_t>(expected + 3 * std::sqrt(expected) + 2);
  if (rank >= size) return 0;
  const auto at = sample.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(sample.begin(), at, sample.end(), std::greater<>());
  return *at;
}

void places_from(std::span<const float> values, const Slice& part, std::uint32_t threshold,
                 std::vector<std::uint32_t>& places) {
  places.clear();
  for (std::size_t i = part.begin; i < part.end; ++i) {
    if (magnitude(values[i]) >= threshold) places.push_back(static_cast<std::uint32_t>(i));
  }
}

}  // namespace

std::size_t share_of(std::size_t elements, double ratio) {
  if (elements == 0) return 0;
  const auto share = static_cast<std::size_t>(std::ceil(static_cast<double>(elements) * ratio));
  return std::clamp<std::size_t>(share, 1, elements);
}

void find_largest(std::span<const float> values, const Slice& part, std::size_t count,
                  std::vector<std::uint32_t>& places) {
  const bool few = part.size() > kSmall && count < part.size() / 4;
  std::vector<std::uint32_t> candidates;
  const std::uint32_t threshold = few ? guess_threshold(values.subspan(part.begin, part.size()), count) : 0;
  places_from(values, part, threshold, candidates);
  if (candidates.size() < count) places_from(values, part, 0, candidates);
  if (candidates.size() > count) {
    const auto larger = [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(magnitude(values[b]), a) < std::pair(magnitude(values[a]), b);
    };
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(candidates.begin(), end, candidates.end(), larger);
    candidates.erase(end, candidates.end());
    std::sort(candidates.begin(), candidates.end());
  }
  places.insert(places.end(), candidates.begin(), candidates.end());
}

TopK::TopK(const Layout& layout, double ratio, std::unique_ptr<Compressor> inner)
    : layout_(layout), ratio_(ratio), sent_(sent(layout, ratio)), inner_(std::move(inner)) {}

std::size_t TopK::sent(const Layout& layout, double ratio) {
  std::size_t all = 0;
  for (const TensorShape& tensor : layout) {
    all += share_of(tensor.elements.size(), ratio);
  }
  return all;
}

std::size_t TopK::code_bytes() const {
  return places_bytes() + (inner_ ? inner_->code_bytes() : sent_ * sizeof(float));
}

void TopK::encode(std::span<const float> values, std::uint64_t number, std::span<std::byte> code) {
  std::vector<std::uint32_t> places;
  places.reserve(sent_);
  for (const TensorShape& tensor : layout_) {
    const std::size_t size = tensor.elements.size();
    if (size > 0) find_largest(values, tensor.elements, share_of(size, ratio_), places);
  }
  std::vector<float> chosen(sent_);
  for (std::size_t i = 0; i < sent_; ++i) chosen[i] = values[places[i]];
  write_numbers<std::uint32_t>(places, code);
  const std::span<std::byte> rest = code.subspan(places_bytes());
  if (inner_) return inner_->encode(chosen, number, rest);
  write_numbers<float>(chosen, rest);
}

void TopK::add(std::span<const std::byte> code, std::uint64_t number, float factor,
               std::span<float> values) const {
  const std::span<const std::byte> rest = code.subspan(places_bytes());
  std::vector<float> chosen(sent_);
  if (inner_) {
    inner_->decode(rest, number, chosen);
  } else {
    chosen = read_numbers<float>(rest, sent_);
  }
  const std::vector<std::uint32_t> places = read_numbers<std::uint32_t>(code, sent_);
  for (std::size_t i = 0; i < sent_; ++i) {
    if (places[i] < values.size()) values[places[i]] += factor * chosen[i];
  }
}

}  // namespace starling::compression
