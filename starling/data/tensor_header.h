// The header of a safetensors file as text, separate from the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace starling::data {

// The position of a tensor's bytes, counted from the end of the header.
struct TensorEntry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct TensorHeader {
  std::vector<TensorEntry> entries;
  std::map<std::string, std::string> metadata;
};

// Bytes of one element; InvalidArgument listing the known ones if there is no such dtype.
std::size_t element_bytes(std::string_view dtype);

// InvalidArgument if a dimension is negative or the product is beyond 2^63.
std::uint64_t bytes_of(std::string_view dtype, const std::vector<std::int64_t>& shape);

// JSON, padded with spaces to a multiple of 8 bytes. InvalidArgument if a text is not UTF-8.
std::string format_header(const TensorHeader& header);

// Checks everything that can be wrong in a header followed by `data_bytes` bytes. InvalidArgument with the
// reason.
TensorHeader parse_header(std::string_view text, std::uint64_t data_bytes);

}  // namespace starling::data
