#include "starling/data/idx.h"

#include <algorithm>
#include <array>

#include "starling/core/error.h"
#include "starling/data/input_file.h"
#include "starling/record/atomic_file.h"

namespace starling::data {
namespace {

namespace fs = std::filesystem;

// Two zero bytes, 8 for unsigned bytes, the number of dimensions.
constexpr std::uint32_t kPictures = 0x00000803;
constexpr std::uint32_t kLabels = 0x00000801;
constexpr int kClasses = 10;
constexpr std::uint32_t kMostSide = 4096;
// Guards against small packed files that unpack to more than any machine has.
constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;

fs::path find_file(const fs::path& folder, std::string_view name) {
  std::string dotted(name);
  dotted[dotted.find("-idx")] = '.';
  for (const std::string& base : {std::string(name), dotted}) {
    for (const char* const ending : {"", ".gz"}) {
      fs::path path = folder / (base + ending);
      std::error_code error;
      if (fs::exists(path, error)) return path;
    }
  }
  throw InvalidArgument(
      concat("'", folder.string(), "' has no file ", name, " or ", dotted, ", plain or with .gz"));
}

std::string hexadecimal(std::uint32_t number) { return concat("0x", format_hex(number, 8)); }

std::uint32_t read_number(InputFile& file, int header_bytes) {
  std::array<std::uint8_t, 4> bytes{};
  if (file.read(bytes) < bytes.size()) {
    file.refuse(concat("is cut off inside its header, which has ", header_bytes, " bytes"));
  }
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         bytes[3];
}

void check_magic(InputFile& file, std::uint32_t expected, int header_bytes) {
  const std::uint32_t magic = read_number(file, header_bytes);
  if (magic == expected) return;
  file.refuse(concat("begins with ", hexadecimal(magic), "; expected ", hexadecimal(expected), " of IDX ",
                     expected == kPictures ? "pictures" : "labels", ", or gzip"));
}

std::uint32_t read_side(InputFile& file, int header_bytes, std::string_view what) {
  const std::uint32_t side = read_number(file, header_bytes);
  if (side < 1 || side > kMostSide) {
    file.refuse(concat("has pictures of ", side, " ", what, "; allowed: 1 to ", kMostSide));
  }
  return side;
}

// The data that a header promises.
struct Promise {
  std::uint64_t bytes = 0;
  unsigned header_bytes = 0;
  std::string text;  // "60000 labels"

  std::string expected() const { return concat("; ", text, " need ", bytes + header_bytes); }
};

// As far as the file's size tells. Nothing is reserved for what cannot be there.
void check_size(const InputFile& file, const Promise& promise) {
  const std::uint64_t room = file.most_bytes();
  if (promise.bytes > kMostBytes) {
    file.refuse(
        concat("promises ", promise.text, ", ", promise.bytes, " bytes; allowed: up to ", kMostBytes));
  }
  if (promise.bytes + promise.header_bytes > room) {
    file.refuse(
        concat("is cut off: it has ", file.packed() ? "at most " : "", room, " bytes", promise.expected()));
  }
  if (!file.packed() && promise.bytes + promise.header_bytes < room)
    file.refuse(concat("has bytes behind its end", promise.expected()));
}

// Reads the data behind the header; nothing may follow it.
std::vector<std::uint8_t> read_rest(InputFile& file, const Promise& promise) {
  check_size(file, promise);
  std::vector<std::uint8_t> rest(promise.bytes);
  if (const std::size_t got = file.read(rest); got < promise.bytes) {
    file.refuse(concat("is cut off: it has ", got + promise.header_bytes, " bytes", promise.expected()));
  }
  std::array<std::uint8_t, 1> more{};
  if (file.read(more) > 0) file.refuse(concat("has bytes behind its end", promise.expected()));
  return rest;
}

// Reads it for the sake of the checks only. The size of a plain file has told everything.
void skim_rest(InputFile& file, const Promise& promise) {
  check_size(file, promise);
  if (!file.packed()) return;
  std::array<std::uint8_t, 1 << 16> part{};
  std::uint64_t got = 0;
  for (std::size_t more = file.read(part); more > 0; more = file.read(part)) got += more;
  if (got < promise.bytes)
    file.refuse(concat("is cut off: it has ", got + promise.header_bytes, " bytes", promise.expected()));
  if (got > promise.bytes) file.refuse(concat("has bytes behind its end", promise.expected()));
}

// A file of pictures, of which the header is read.
struct PictureFile {
  explicit PictureFile(const fs::path& path) : file(path, InputFile::Gzip::kMayBe) {
    constexpr int kHeaderBytes = 16;
    check_magic(file, kPictures, kHeaderBytes);
    count = read_number(file, kHeaderBytes);
    if (count == 0) file.refuse("has 0 pictures; expected at least 1");
    images.height = static_cast<int>(read_side(file, kHeaderBytes, "rows"));
    images.width = static_cast<int>(read_side(file, kHeaderBytes, "columns"));
    images.classes = kClasses;
    promise = {count * std::uint64_t{images.picture_bytes()}, kHeaderBytes,
               concat(count, " pictures of ", images.height, " x ", images.width)};
  }

  InputFile file;
  std::uint32_t count = 0;
  Images images;  // without pictures
  Promise promise;
};

Images read_pictures(const fs::path& path) {
  PictureFile pictures(path);
  pictures.images.pixels = read_rest(pictures.file, pictures.promise);
  return std::move(pictures.images);
}

std::vector<std::uint8_t> read_labels(const fs::path& path, std::size_t pictures) {
  constexpr int kHeaderBytes = 8;
  InputFile file(path, InputFile::Gzip::kMayBe);
  check_magic(file, kLabels, kHeaderBytes);
  const std::uint32_t count = read_number(file, kHeaderBytes);
  if (count != pictures) {
    file.refuse(concat("has ", count, " labels; expected ", pictures, ", one for each picture"));
  }
  std::vector<std::uint8_t> labels = read_rest(file, {count, kHeaderBytes, concat(count, " labels")});
  const auto bad = std::find_if(labels.begin(), labels.end(), [](int label) { return label >= kClasses; });
  if (bad != labels.end()) {
    file.refuse(concat("has label ", int{*bad}, " at position ", bad - labels.begin(), "; allowed: 0 to ",
                       kClasses - 1));
  }
  return labels;
}

Images read_part(const fs::path& folder, std::string_view pictures, std::string_view labels) {
  // All names first: a half-copied folder is noticed before a long read.
  const fs::path picture_file = find_file(folder, pictures);
  const fs::path label_file = find_file(folder, labels);
  Images images = read_pictures(picture_file);
  images.labels = read_labels(label_file, images.pixels.size() / images.picture_bytes());
  return images;
}

// The same without the pictures.
std::pair<std::size_t, Images> count_part(const fs::path& folder, std::string_view pictures,
                                          std::string_view labels) {
  const fs::path label_file = find_file(folder, labels);
  PictureFile file(find_file(folder, pictures));
  skim_rest(file.file, file.promise);
  read_labels(label_file, file.count);
  return {file.count, std::move(file.images)};
}

void check_sizes(const fs::path& folder, const Images& train, const Images& test) {
  if (train.height == test.height && train.width == test.width) return;
  throw InvalidArgument(concat("'", folder.string(), "' has training pictures of ", train.height, " x ",
                               train.width, " and test pictures of ", test.height, " x ", test.width,
                               "; expected one size"));
}

void check_names(const fs::path& folder) {
  check_folder(folder);
  for (const std::string_view name : kIdxFiles) find_file(folder, name);
}

void write_file(const fs::path& path, std::initializer_list<std::size_t> header,
                const std::vector<std::uint8_t>& bytes) {
  record::AtomicFile file(path);
  for (const std::size_t number : header) {
    for (const int shift : {24, 16, 8, 0}) file.stream().put(static_cast<char>(number >> shift & 0xff));
  }
  file.stream().write(reinterpret_cast<const char*>(bytes.data()),
                      static_cast<std::streamsize>(bytes.size()));
  file.publish();
}

}  // namespace

ImageSet read_mnist(const fs::path& folder) {
  check_names(folder);
  ImageSet set{read_part(folder, kIdxFiles[0], kIdxFiles[1]), read_part(folder, kIdxFiles[2], kIdxFiles[3])};
  check_sizes(folder, set.train, set.test);
  return set;
}

std::size_t count_mnist(const fs::path& folder) {
  check_names(folder);
  const auto [count, images] = count_part(folder, kIdxFiles[0], kIdxFiles[1]);
  check_sizes(folder, images, count_part(folder, kIdxFiles[2], kIdxFiles[3]).second);
  return count;
}

void write_idx(const fs::path& folder, const ImageSet& set) {
  std::size_t next = 0;
  for (const Images* const images : {&set.train, &set.test}) {
    if (images->channels != 1) {
      throw InvalidArgument(
          concat("pictures of ", images->channels, " channels cannot be written as IDX; allowed: 1 (grey)"));
    }
    write_file(folder / kIdxFiles[next++],
               {kPictures, images->size(), static_cast<std::size_t>(images->height),
                static_cast<std::size_t>(images->width)},
               images->pixels);
    write_file(folder / kIdxFiles[next++], {kLabels, images->size()}, images->labels);
  }
}

}  // namespace starling::data
