#include "starling/torch/tensor_batches.h"

namespace starling::torch {

InputShape shape_of(const data::DataSet& set) {
  InputShape shape;
  if (const auto* const text = std::get_if<data::TextSet>(&set)) {
    shape.text = true;
    shape.classes = static_cast<int>(text->alphabet.size());
    return shape;
  }
  const data::Images& images = std::get<data::ImageSet>(set).train;
  shape.channels = images.channels;
  shape.height = images.height;
  shape.width = images.width;
  shape.classes = images.classes;
  return shape;
}

TensorBatches::TensorBatches(const data::DataSet& set, Side side) {
  if (const auto* const text = std::get_if<data::TextSet>(&set)) {
    text_ = side == Side::kTrain ? &text->train : &text->test;
    size_ = text_samples(*text_);
    return;
  }
  const auto& pictures = std::get<data::ImageSet>(set);
  images_ = side == Side::kTrain ? &pictures.train : &pictures.test;
  size_ = images_->size();
}

Sample TensorBatches::take(std::span<const std::uint32_t> indices) const {
  return text_ != nullptr ? lines(indices) : pictures(indices);
}

// Pixels 0 to 255 become -1 to 1.
Sample TensorBatches::pictures(std::span<const std::uint32_t> indices) const {
  const auto count = static_cast<std::int64_t>(indices.size());
  const std::size_t bytes = images_->picture_bytes();
  Sample sample{::torch::empty({count, images_->channels, images_->height, images_->width}),
                ::torch::empty({count}, ::torch::kInt64), indices.size()};
  auto* pixel = sample.input.data_ptr<float>();
  auto* label = sample.target.data_ptr<std::int64_t>();
  for (const std::uint32_t index : indices) {
    const std::uint8_t* const from = images_->pixels.data() + index * bytes;
    for (std::size_t i = 0; i < bytes; ++i) *pixel++ = static_cast<float>(from[i]) / 127.5F - 1.0F;
    *label++ = images_->labels[index];
  }
  return sample;
}

Sample TensorBatches::lines(std::span<const std::uint32_t> indices) const {
  const auto count = static_cast<std::int64_t>(indices.size());
  constexpr auto kLength = static_cast<std::int64_t>(kTextLength);
  Sample sample{::torch::empty({count, kLength}, ::torch::kInt64),
                ::torch::empty({count * kLength}, ::torch::kInt64), indices.size()};
  auto* input = sample.input.data_ptr<std::int64_t>();
  auto* target = sample.target.data_ptr<std::int64_t>();
  for (const std::uint32_t index : indices) {
    const std::uint8_t* const from = text_->data() + index * kTextLength;
    for (std::size_t i = 0; i < kTextLength; ++i) {
      *input++ = from[i];
      *target++ = from[i + 1];
    }
  }
  return sample;
}

}  // namespace starling::torch
