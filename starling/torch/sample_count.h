// The number of samples of a data set, for code without LibTorch.
#pragma once

#include <cstddef>
#include <vector>

#include "starling/data/dataset.h"

namespace starling::torch {

inline constexpr std::size_t kTextLength = 64;  // characters of a sample

inline std::size_t text_samples(std::size_t bytes) { return bytes == 0 ? 0 : (bytes - 1) / kTextLength; }

inline std::size_t text_samples(const std::vector<std::uint8_t>& text) { return text_samples(text.size()); }

inline std::size_t training_samples(const data::DataSet& set) {
  if (const auto* const text = std::get_if<data::TextSet>(&set)) return text_samples(text->train);
  return std::get<data::ImageSet>(set).train.size();
}

inline std::size_t training_samples(const data::Description& set) {
  return set.is_text ? text_samples(set.train) : set.train;
}

}  // namespace starling::torch
