// CIFAR-10 (Krizhevsky, 2009) in its binary version.
#pragma once

#include <filesystem>

#include "starling/data/dataset.h"

namespace starling::data {

// data_batch_1.bin to data_batch_5.bin and test_batch.bin, in the folder or in its cifar-10-batches-bin,
// where the archive puts them. Records of a label and 3 x 32 x 32 bytes. The batches may be shorter than the
// original's 10,000 pictures, but the five of training are equally long: one that was cut off at a record is
// noticed. InvalidArgument naming the file, what was found and what is expected.
ImageSet read_cifar10(const std::filesystem::path& folder);

// How many pictures there are for training. Refuses what read_cifar10 refuses and keeps no pictures.
std::size_t count_cifar10(const std::filesystem::path& folder);

}  // namespace starling::data
