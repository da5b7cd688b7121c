// The owner of a file descriptor, and ways to make one. Programs that this process starts inherit none of
// these.
#pragma once

#include <sys/types.h>

#include <utility>

namespace starling {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Descriptor(std::move(other)).swap(*this);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return value_; }
  bool valid() const { return value_ >= 0; }
  // The caller owns it now.
  int release() { return std::exchange(value_, -1); }
  // Closes it if there is one. 0 or the error number: a file system may report a failed write here.
  int close() noexcept;
  void swap(Descriptor& other) noexcept { std::swap(value_, other.value_); }

 private:
  int value_ = -1;
};

// The two ends of a pipe or of a pair of sockets. A pipe is read at `first` and written at `second`.
struct DescriptorPair {
  Descriptor first;
  Descriptor second;
};

// All throw Error with the name of the system call.
DescriptorPair make_pipe();
// Unlike a pipe it can be written to without SIGPIPE when the other end is gone (send with MSG_NOSIGNAL).
DescriptorPair make_socket_pair();
// A file without a name, in memory.
Descriptor make_memory_file(const char* name);

// Readable when the process has ended. Invalid if there is no such process, with the reason in errno.
Descriptor open_process(pid_t pid);

// Reads and writes that find nothing to do return at once.
void set_nonblocking(const Descriptor& descriptor);

}  // namespace starling
