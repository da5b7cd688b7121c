// Drawn digits that look handwritten: a data set that needs no download.
#pragma once

#include <cstddef>
#include <cstdint>

#include "starling/data/dataset.h"

namespace starling::data {

struct GlyphSetting {
  std::size_t train = 12'000;
  std::size_t test = 2'000;
  std::uint64_t seed = 1;
};

// Grey pictures of 28 x 28 like MNIST's: strokes of random position, slant, size, thickness and brightness,
// with noise. A picture depends on the seed, on its part (training or test) and on its index only, so a
// smaller set is the beginning of a larger one. Each ten pictures, from the first on, have all ten labels.
ImageSet make_glyphs(const GlyphSetting& setting = {});

}  // namespace starling::data
