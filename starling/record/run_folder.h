// The folder that a run, or another command, writes to, as in --out DIR.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace starling::record {

// All files of a run.
inline constexpr std::string_view kRunFiles[] = {"run.json", "events.jsonl", "summary.json", "trace.json",
                                                 "model.safetensors"};

// The purpose of a folder: a word for it in messages, and its files.
struct Contents {
  std::string_view what;
  std::span<const std::string_view> files;
};
inline constexpr Contents kRun{"run", kRunFiles};

class RunFolder {
 public:
  // Made before the work, so that hours of it are not lost to a mistyped name. Creates the folder.
  // InvalidArgument, and no folder is created, if that is impossible, if it is not empty (with `force`: the
  // files of earlier contents are removed, no others are touched), if nothing can be written to it, or if the
  // disk has less room than the expected bytes and a reserve.
  explicit RunFolder(std::filesystem::path path, bool force = false, std::uint64_t expected_bytes = 0,
                     const Contents& contents = kRun);

  // An existing folder that was checked before, by the process that started this one.
  static RunFolder existing(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }

  // The file is complete or absent (atomic_file.h). Error with the system's reason.
  void write(std::string_view name, std::string_view text) const;

  // The same for contents that are too large for memory. `body` need not check the stream's state; its
  // exceptions are passed on, and there is no file then.
  void write(std::string_view name, const std::function<void(std::ostream&)>& body) const;

 private:
  RunFolder() = default;

  std::filesystem::path path_;
};

// InvalidArgument naming the path and both sizes if there is less than the expected bytes and a reserve.
void check_room(const std::filesystem::path& path, std::uint64_t free_bytes, std::uint64_t expected_bytes,
                std::string_view what = kRun.what);

}  // namespace starling::record
