// A file that is read from front to back and is not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace starling::data {

class Gunzip;

class InputFile {
 public:
  // kMayBe: a file that begins like gzip is unpacked while it is read, whatever its name, because people
  // rename them.
  enum class Gzip { kNo, kMayBe };

  // InvalidArgument if there is no such file, or it is a folder, or may not be read.
  explicit InputFile(std::filesystem::path path, Gzip gzip = Gzip::kNo);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Fewer bytes than asked for only at the end. InvalidArgument if packed data are damaged, cut off, or
  // followed by something else.
  std::size_t read(std::span<std::uint8_t> bytes);

  // At most this many bytes can be read in total: the file's bytes, or, for a packed file, what they can
  // unpack to. For checking the sizes in a header before memory is reserved for them.
  std::uint64_t most_bytes() const;

  bool packed() const { return gunzip_ != nullptr; }

  // InvalidArgument: "'PATH' " and why.
  [[noreturn]] void refuse(std::string_view why) const;

 private:
  std::size_t read_raw(std::span<std::uint8_t> bytes);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::filesystem::path path_;
  std::uint64_t file_bytes_ = 0;
  std::unique_ptr<std::FILE, Close> file_;
  std::unique_ptr<Gunzip> gunzip_;
};

// InvalidArgument if it does not exist or is not a folder.
void check_folder(const std::filesystem::path& path);

}  // namespace starling::data
