#include "starling/data/input_file.h"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "starling/core/error.h"

namespace starling::data {

namespace fs = std::filesystem;

// zlib's state and its input.
class Gunzip {
 public:
  Gunzip() {
    // 15 bits of window, and 16 for gzip's header and checksum.
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  bool hungry() const { return stream_.avail_in == 0; }
  bool ended() const { return ended_; }
  std::span<std::uint8_t> buffer() { return buffer_; }

  // The buffer's first bytes are new.
  void feed(std::size_t bytes) {
    stream_.next_in = buffer_.data();
    stream_.avail_in = static_cast<uInt>(bytes);
  }

  // Returns how many were unpacked; nullptr in `damage`, or zlib's words.
  std::size_t unpack(std::span<std::uint8_t> bytes, const char*& damage) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const auto asked = static_cast<uInt>(std::min(bytes.size(), kMost));
    stream_.next_out = bytes.data();
    stream_.avail_out = asked;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    ended_ = result == Z_STREAM_END;
    damage = nullptr;
    if (result != Z_OK && !ended_) damage = stream_.msg != nullptr ? stream_.msg : zError(result);
    return asked - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool ended_ = false;
  std::array<std::uint8_t, 1 << 16> buffer_{};
};

InputFile::InputFile(fs::path path, Gzip gzip) : path_(std::move(path)) {
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (!fs::exists(status)) refuse(concat("cannot be read: ", error ? error.message() : "no such file"));
  if (fs::is_directory(status)) refuse("is a folder; expected a file");
  if (!fs::is_regular_file(status)) refuse("is not a regular file");
  file_bytes_ = fs::file_size(path_, error);
  file_.reset(std::fopen(path_.c_str(), "rb"));
  if (!file_ || error) refuse(concat("cannot be read: ", std::strerror(error ? error.value() : errno)));
  if (gzip == Gzip::kNo) return;
  std::array<std::uint8_t, 2> magic{};
  read_raw(magic);
  std::rewind(file_.get());
  if (magic[0] == 0x1f && magic[1] == 0x8b) gunzip_ = std::make_unique<Gunzip>();
}

InputFile::~InputFile() = default;

std::size_t InputFile::read_raw(std::span<std::uint8_t> bytes) {
  errno = 0;
  const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), file_.get());
  if (std::ferror(file_.get()) != 0) refuse(concat("cannot be read: ", std::strerror(errno)));
  return got;
}

std::size_t InputFile::read(std::span<std::uint8_t> bytes) {
  if (!packed()) return read_raw(bytes);
  std::size_t done = 0;
  while (done < bytes.size() && !gunzip_->ended()) {
    if (gunzip_->hungry()) {
      gunzip_->feed(read_raw(gunzip_->buffer()));
      if (gunzip_->hungry()) refuse("is cut off: its gzip data have no end");
    }
    const char* damage = nullptr;
    done += gunzip_->unpack(bytes.subspan(done), damage);
    if (damage != nullptr) refuse(concat("has damaged gzip data: ", damage));
    if (!gunzip_->ended()) continue;
    std::array<std::uint8_t, 1> more{};
    if (!gunzip_->hungry() || read_raw(more) > 0) refuse("has more bytes behind its gzip data");
  }
  return done;
}

std::uint64_t InputFile::most_bytes() const {
  constexpr std::uint64_t kBestRatio = 1032;  // of deflate: 258 bytes from 2 bits
  return packed() ? file_bytes_ * kBestRatio : file_bytes_;
}

void InputFile::refuse(std::string_view why) const {
  throw InvalidArgument(concat("'", path_.string(), "' ", why));
}

void check_folder(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw InvalidArgument(concat("there is no folder '", path.string(), "'"));
  if (!fs::is_directory(status)) throw InvalidArgument(concat("'", path.string(), "' is not a folder"));
}

}  // namespace starling::data
