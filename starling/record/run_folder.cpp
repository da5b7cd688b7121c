#include "starling/record/run_folder.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "starling/core/descriptor.h"
#include "starling/core/error.h"
#include "starling/record/atomic_file.h"

namespace starling::record {
namespace {

namespace fs = std::filesystem;

// For files whose size is not estimated, and for other programs that write to the disk meanwhile.
constexpr std::uint64_t kReserveBytes = 16 << 20;

[[noreturn]] void refuse(const fs::path& path, std::string_view why) {
  throw InvalidArgument(concat("--out: '", path.string(), "' ", why));
}

// Removes folders again that were created for a run that is then refused.
class Created {
 public:
  Created() = default;
  ~Created() {
    for (const fs::path& folder : folders_) ::rmdir(folder.c_str());
  }
  Created(const Created&) = delete;
  Created& operator=(const Created&) = delete;

  // With its parents.
  void create(const fs::path& path);
  void keep() { folders_.clear(); }

 private:
  std::vector<fs::path> folders_;  // the innermost first
};

void Created::create(const fs::path& path) {
  if (path.empty()) throw InvalidArgument("--out: the name of the folder is empty");
  std::error_code error;
  if (const fs::file_status status = fs::status(path, error);
      fs::exists(status) && !fs::is_directory(status)) {
    refuse(path, "is not a folder");
  }
  for (fs::path folder = path; !folder.empty() && !fs::exists(folder, error); folder = folder.parent_path()) {
    folders_.push_back(folder);
  }
  fs::create_directories(path, error);
  if (error) refuse(path, concat("cannot be created: ", error.message()));
}

void check_empty(const fs::path& path, std::string_view what) {
  std::error_code error;
  const bool empty = fs::is_empty(path, error);
  if (error) refuse(path, concat("cannot be read: ", error.message()));
  if (!empty) refuse(path, concat("is not empty; --force replaces the ", what, " that is in it"));
}

// Checking permissions would not be enough: a file system may be read-only, of fixed content, or out of
// quota.
void check_writable(const fs::path& path) {
  const fs::path probe = path / concat(".starling-probe-", ::getpid());
  Descriptor file(::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) refuse(path, concat("cannot be written to: ", std::strerror(errno)));
  int error = ::write(file.get(), "x", 1) == 1 ? 0 : errno;
  if (const int late = file.close(); error == 0) error = late;
  ::unlink(probe.c_str());
  if (error != 0) refuse(path, concat("cannot be written to: ", std::strerror(error)));
}

// None where the file system does not count blocks.
std::optional<std::uint64_t> free_bytes(const fs::path& path) {
  struct statvfs state {};
  if (::statvfs(path.c_str(), &state) != 0 || state.f_blocks == 0) return std::nullopt;
  return static_cast<std::uint64_t>(state.f_bavail) * state.f_frsize;
}

std::vector<fs::path> earlier_files(const fs::path& path, const Contents& contents) {
  std::vector<fs::path> files;
  for (const std::string_view name : contents.files) {
    for (const fs::path& file : {path / name, path / concat(name, ".part")}) {
      std::error_code error;
      const fs::file_status status = fs::symlink_status(file, error);
      if (fs::is_directory(status)) refuse(path, concat("has a folder named ", file.filename().string()));
      if (fs::exists(status)) files.push_back(file);
    }
  }
  return files;
}

std::uint64_t bytes_of(const std::vector<fs::path>& files) {
  std::uint64_t sum = 0;
  for (const fs::path& file : files) {
    std::error_code error;
    const std::uintmax_t bytes = fs::is_symlink(file, error) ? 0 : fs::file_size(file, error);
    if (!error) sum += bytes;
  }
  return sum;
}

}  // namespace

void check_room(const fs::path& path, std::uint64_t free_bytes, std::uint64_t expected_bytes,
                std::string_view what) {
  const auto megabytes = [](std::uint64_t bytes) { return (bytes >> 20) + (bytes % (1 << 20) != 0 ? 1 : 0); };
  if (free_bytes >= kReserveBytes && free_bytes - kReserveBytes >= expected_bytes) return;
  refuse(path, concat("has ", free_bytes >> 20, " MiB left on its disk; the ", what, " needs ",
                      megabytes(expected_bytes) + (kReserveBytes >> 20), " MiB"));
}

RunFolder RunFolder::existing(fs::path path) {
  RunFolder folder;
  folder.path_ = std::move(path);
  return folder;
}

RunFolder::RunFolder(fs::path path, bool force, std::uint64_t expected_bytes, const Contents& contents)
    : path_(std::move(path)) {
  Created created;
  created.create(path_);
  if (!force) check_empty(path_, contents.what);
  check_writable(path_);
  // Nothing is removed before everything is checked.
  const std::vector<fs::path> old = earlier_files(path_, contents);
  if (const auto free = free_bytes(path_))
    check_room(path_, *free + bytes_of(old), expected_bytes, contents.what);
  for (const fs::path& file : old) {
    std::error_code error;
    fs::remove(file, error);
    if (error) refuse(file, concat("cannot be removed: ", error.message()));
  }
  created.keep();
}

void RunFolder::write(std::string_view name, std::string_view text) const {
  write(name, [text](std::ostream& out) { out << text; });
}

void RunFolder::write(std::string_view name, const std::function<void(std::ostream&)>& body) const {
  AtomicFile file(path_ / name);
  body(file.stream());
  file.publish();
}

}  // namespace starling::record
