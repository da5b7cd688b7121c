#include "starling/data/noise.h"

#include "starling/core/random.h"

namespace starling::data {
namespace {

constexpr std::uint64_t kSeed = 1;

Images make_noise_part(const Random& random, std::size_t count) {
  Images images;
  images.channels = 3;
  images.height = images.width = 32;
  images.classes = 10;
  Random pixels = random.fork(0), labels = random.fork(1);
  images.pixels.resize(count * images.picture_bytes());
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < images.pixels.size(); ++i) {
    bits = i % sizeof bits == 0 ? pixels.next() : bits >> 8;
    images.pixels[i] = static_cast<std::uint8_t>(bits);
  }
  images.labels.resize(count);
  for (std::uint8_t& label : images.labels) label = static_cast<std::uint8_t>(labels.below(10));
  return images;
}

}  // namespace

ImageSet make_noise(std::size_t train) {
  const Random random(kSeed);
  return {make_noise_part(random.fork(0), train), make_noise_part(random.fork(1), kNoiseTest)};
}

}  // namespace starling::data
