#include "starling/data/cifar10.h"

#include "starling/core/error.h"
#include "starling/data/input_file.h"

namespace starling::data {
namespace {

namespace fs = std::filesystem;

constexpr int kCifarChannels = 3;
constexpr int kCifarSide = 32;
constexpr int kCifarClasses = 10;
constexpr int kTrainBatches = 5;
constexpr std::size_t kRecordBytes = 1 + kCifarChannels * kCifarSide * kCifarSide;
// A hundred times the original; more is another file.
constexpr std::size_t kMostPictures = 1'000'000;

fs::path batches_in(const fs::path& folder) {
  check_folder(folder);
  std::error_code error;
  const fs::path inner = folder / "cifar-10-batches-bin";
  return fs::is_directory(inner, error) ? inner : folder;
}

std::size_t count_pictures(const InputFile& file) {
  const std::uint64_t bytes = file.most_bytes();
  if (bytes == 0 || bytes % kRecordBytes != 0 || bytes / kRecordBytes > kMostPictures) {
    file.refuse(concat("has ", bytes, " bytes; expected 1 to ", kMostPictures, " records of ", kRecordBytes));
  }
  return bytes / kRecordBytes;
}

// Calls `use` with each record, one at a time, and returns how many there are.
template <class Use>
std::size_t read_records(const fs::path& path, Use use) {
  InputFile file(path);
  const std::size_t count = count_pictures(file);
  std::vector<std::uint8_t> record(kRecordBytes);
  for (std::size_t i = 0; i < count; ++i) {
    if (const std::size_t got = file.read(record); got < record.size()) {
      file.refuse(concat("ended after ", i * kRecordBytes + got, " bytes while it was read; expected ",
                         count * kRecordBytes));
    }
    if (record[0] >= kCifarClasses) {
      file.refuse(
          concat("has label ", int{record[0]}, " in record ", i, "; allowed: 0 to ", kCifarClasses - 1));
    }
    use(record);
  }
  return count;
}

// Adds the file's pictures and returns how many.
std::size_t append_batch(const fs::path& path, Images& images) {
  return read_records(path, [&](const std::vector<std::uint8_t>& record) {
    images.labels.push_back(record[0]);
    images.pixels.insert(images.pixels.end(), record.begin() + 1, record.end());
  });
}

Images empty_images() {
  Images images;
  images.channels = kCifarChannels;
  images.height = images.width = kCifarSide;
  images.classes = kCifarClasses;
  return images;
}

// Calls `read` with each training file, which returns how many pictures it has; they must have equally many.
template <class Read>
std::size_t read_training(const fs::path& batches, Read read) {
  std::size_t first = 0;
  for (int i = 1; i <= kTrainBatches; ++i) {
    const fs::path path = batches / concat("data_batch_", i, ".bin");
    const std::size_t count = read(path);
    if (i == 1) first = count;
    if (count != first) {
      throw InvalidArgument(concat("'", path.string(), "' has ", count, " pictures; expected ", first,
                                   " as in data_batch_1.bin"));
    }
  }
  return first * kTrainBatches;
}

}  // namespace

ImageSet read_cifar10(const fs::path& folder) {
  const fs::path batches = batches_in(folder);
  ImageSet set{empty_images(), empty_images()};
  read_training(batches, [&](const fs::path& path) { return append_batch(path, set.train); });
  append_batch(batches / "test_batch.bin", set.test);
  return set;
}

std::size_t count_cifar10(const fs::path& folder) {
  const auto count = [](const fs::path& path) {
    return read_records(path, [](const std::vector<std::uint8_t>&) {});
  };
  const fs::path batches = batches_in(folder);
  const std::size_t pictures = read_training(batches, count);
  count(batches / "test_batch.bin");
  return pictures;
}

}  // namespace starling::data
