// Data sets in memory, and their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace starling::data {

// Labelled pictures, 8 bits a channel: pixels [size][channels][height][width].
struct Images {
  int channels = 1;
  int height = 0;
  int width = 0;
  int classes = 0;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;

  std::size_t size() const { return labels.size(); }
  std::size_t picture_bytes() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(width);
  }
};

struct ImageSet {
  Images train;
  Images test;
};

// A text as indices into its alphabet, which is its distinct bytes in order; the last tenth is for testing.
struct TextSet {
  std::string alphabet;
  std::vector<std::uint8_t> train;
  std::vector<std::uint8_t> test;
};

using DataSet = std::variant<ImageSet, TextSet>;

// "glyphs", "mnist:DIR", "cifar10:DIR", "text:FILE" or "noise:COUNT"; a name gives the same bytes on every
// machine. `what` starts the messages, as in "--data". InvalidArgument if the name is none of these, or
// naming the file that is missing or damaged and how.
DataSet load(std::string_view name, std::string_view what);

// The size of a data set.
struct Description {
  bool is_text = false;
  std::size_t train = 0;  // pictures, or bytes of text
};

// Refuses what `load` refuses, but holds none of the data in memory. `what` starts the messages.
Description describe(std::string_view name, std::string_view what);

// A hash of all that it holds, and its form for the reader: "#16689337130128231080 (60000 pictures of
// 1x28x28)". Another data set has another one.
std::string fingerprint(const DataSet& set);

// "glyphs, mnist:DIR, ...", for messages and help.
std::string data_forms();

}  // namespace starling::data
