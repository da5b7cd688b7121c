// A file that is complete or absent.
#pragma once

#include <filesystem>
#include <ostream>
#include <streambuf>
#include <vector>

#include "starling/core/descriptor.h"

namespace starling::record {

// Remembers why the system would not write; std::filebuf does not tell.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor);

  // Writes the rest. The first error number of all writes, 0 if there was none.
  int finish();

 protected:
  int_type overflow(int_type next) override;
  int sync() override;

 private:
  bool drain();

  int descriptor_;
  int error_ = 0;
  std::vector<char> buffer_;
};

// The file is written without a name, which publish() gives it; without publish() it disappears, even if the
// process is killed. Where the file system cannot do that it is written as PATH.part, which a killed process
// leaves.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  std::ostream& stream() { return stream_; }

  // Error if anything could not be written. Once. Durable: a machine that loses its power now has the file.
  enum class Durable { kNo, kYes };
  void publish(Durable durable = Durable::kNo);

 private:
  void fail(int error) const;

  std::filesystem::path path_;
  std::filesystem::path part_;
  Descriptor descriptor_;
  DescriptorBuffer buffer_;
  std::ostream stream_;
};

}  // namespace starling::record
