// The file format safetensors, as defined by Hugging Face's library of that name: the bytes of a JSON header
// as a little-endian number of 8 bytes, the header, and then the tensors' bytes without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "starling/record/atomic_file.h"

namespace starling::data {

struct StoredTensor {
  std::string name;
  std::string dtype;                // as in the file: "F32", "I64"
  std::vector<std::int64_t> shape;  // empty for a single number
  std::vector<std::byte> bytes;     // little-endian, the last dimension fastest
};

struct TensorFile {
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

// The file is complete or absent. The tensors keep their order in the header; the bytes of wide elements come
// first, so that every tensor is aligned to its elements. InvalidArgument if a tensor's bytes do not match
// its shape and dtype, a name occurs twice, or a text is not UTF-8; Error if the file cannot be written.
void write_safetensors(const std::filesystem::path& path, const TensorFile& file,
                       record::AtomicFile::Durable durable = record::AtomicFile::Durable::kNo);

// The tensors in the order of the header. InvalidArgument naming the file and the damage.
TensorFile read_safetensors(const std::filesystem::path& path);

}  // namespace starling::data
