// MNIST's files: the format IDX, big-endian numbers and then bytes.
#pragma once

#include <filesystem>
#include <string_view>

#include "starling/data/dataset.h"

namespace starling::data {

// The files that write_idx leaves, in this order.
inline constexpr std::string_view kIdxFiles[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                                 "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

// The four files of the folder, each plain or with .gz, and also named as in "train-images.idx3-ubyte"; if
// there are several the plain one counts. InvalidArgument naming the file, what was found and what is
// expected.
ImageSet read_mnist(const std::filesystem::path& folder);

// How many pictures there are for training. Refuses what read_mnist refuses and keeps no pictures.
std::size_t count_mnist(const std::filesystem::path& folder);

// Writes into an existing folder, uncompressed, replacing files of these names. InvalidArgument if the
// pictures are not grey; Error if a file cannot be written. A file is complete or absent.
void write_idx(const std::filesystem::path& folder, const ImageSet& set);

}  // namespace starling::data
