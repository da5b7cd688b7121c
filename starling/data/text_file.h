// A text to be continued, byte by byte.
#pragma once

#include <filesystem>

#include "starling/data/dataset.h"

namespace starling::data {

// InvalidArgument naming the file if it is missing, a folder, or has less than 1,000 or more than 2^30 bytes.
TextSet read_text(const std::filesystem::path& path);

// How many bytes of it are for training, from its size, which is checked as above.
std::size_t count_text(const std::filesystem::path& path);

}  // namespace starling::data
