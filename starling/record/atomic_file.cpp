#include "starling/record/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "starling/core/error.h"

namespace starling::record {
namespace {

constexpr std::size_t kFileBufferBytes = 1 << 16;
constexpr mode_t kMode = 0666;  // the user's umask takes its part away

std::string path_of(int descriptor) { return concat("/proc/self/fd/", descriptor); }

// A file without a name, so that nothing is left of it whatever ends the process; invalid where the system
// has none, or no way to name it later.
Descriptor open_nameless(const std::filesystem::path& folder) {
  Descriptor file(::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, kMode));
  if (file.valid() && ::access(path_of(file.get()).c_str(), F_OK) != 0) file.close();
  return file;
}

Descriptor open_output(const std::filesystem::path& folder, const std::filesystem::path& part) {
  Descriptor file = open_nameless(folder);
  if (file.valid()) return file;
  return Descriptor(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
}

// Gives a nameless file its name. 0 or the error number.
int name_output(int descriptor, const std::filesystem::path& part) {
  struct stat state {};
  if (::fstat(descriptor, &state) != 0) return errno;
  if (state.st_nlink > 0) return 0;
  ::unlink(part.c_str());
  const int result =
      ::linkat(AT_FDCWD, path_of(descriptor).c_str(), AT_FDCWD, part.c_str(), AT_SYMLINK_FOLLOW);
  return result == 0 ? 0 : errno;
}

// A name is on disk when its folder is. 0 or the error number.
int sync_folder(const std::filesystem::path& folder) {
  const Descriptor descriptor(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.valid()) return errno;
  return ::fsync(descriptor.get()) == 0 ? 0 : errno;
}

}  // namespace

DescriptorBuffer::DescriptorBuffer(int descriptor) : descriptor_(descriptor), buffer_(kFileBufferBytes) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

bool DescriptorBuffer::drain() {
  const char* next = pbase();
  while (error_ == 0 && next < pptr()) {
    const ssize_t written = ::write(descriptor_, next, static_cast<std::size_t>(pptr() - next));
    if (written >= 0) {
      next += written;
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return error_ == 0;
}

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type next) {
  if (!drain()) return traits_type::eof();
  if (!traits_type::eq_int_type(next, traits_type::eof())) sputc(traits_type::to_char_type(next));
  return traits_type::not_eof(next);
}

int DescriptorBuffer::sync() { return drain() ? 0 : -1; }

int DescriptorBuffer::finish() {
  drain();
  return error_;
}

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)),
      part_(path_.string() + ".part"),
      descriptor_(open_output(path_.parent_path(), part_)),
      buffer_(descriptor_.get()),
      stream_(&buffer_) {
  if (!descriptor_.valid()) fail(errno);
}

AtomicFile::~AtomicFile() {
  if (!part_.empty()) ::unlink(part_.c_str());
}

void AtomicFile::fail(int error) const {
  throw Error(concat("cannot write ", path_.string(), ": ", std::strerror(error)));
}

void AtomicFile::publish(Durable durable) {
  if (const int error = buffer_.finish(); error != 0) fail(error);
  if (!stream_) throw Error(concat("cannot write ", path_.string(), ": its content could not be formatted"));
  if (const int error = name_output(descriptor_.get(), part_); error != 0) fail(error);
  if (durable == Durable::kYes && ::fsync(descriptor_.get()) != 0) fail(errno);
  if (const int error = descriptor_.close(); error != 0) fail(error);
  if (std::rename(part_.c_str(), path_.c_str()) != 0) fail(errno);
  part_.clear();
  if (durable == Durable::kNo) return;
  if (const int error = sync_folder(path_.parent_path()); error != 0) fail(error);
}

}  // namespace starling::record
