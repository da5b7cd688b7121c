#include "starling/data/safetensors.h"

#include <algorithm>
#include <array>

#include "starling/core/error.h"
#include "starling/data/input_file.h"
#include "starling/data/tensor_header.h"

namespace starling::data {
namespace {

constexpr std::size_t kLengthBytes = 8;
// The official library's limit; a header of more would not be read there.
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;

// The tensors in the order of their bytes in the file.
std::vector<std::size_t> layout(const std::vector<StoredTensor>& tensors) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tensors.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return element_bytes(tensors[a].dtype) > element_bytes(tensors[b].dtype);
  });
  return order;
}

TensorEntry entry_of(const StoredTensor& tensor) {
  TensorEntry entry{tensor.name, tensor.dtype, tensor.shape, 0, 0};
  const std::uint64_t needed = bytes_of(tensor.dtype, tensor.shape);
  if (tensor.bytes.size() != needed) {
    throw InvalidArgument(concat("it has ", tensor.bytes.size(), " bytes; shape [", join_texts(tensor.shape),
                                 "] of ", tensor.dtype, " needs ", needed));
  }
  return entry;
}

TensorHeader header_of(const TensorFile& file) {
  TensorHeader header;
  header.metadata = file.metadata;
  for (const StoredTensor& tensor : file.tensors) {
    try {
      header.entries.push_back(entry_of(tensor));
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(concat("tensor '", tensor.name, "': ", error.what()));
    }
  }
  std::uint64_t next = 0;
  for (const std::size_t i : layout(file.tensors)) {
    header.entries[i].begin = next;
    next += file.tensors[i].bytes.size();
    header.entries[i].end = next;
  }
  return header;
}

std::uint64_t read_length(InputFile& file) {
  std::array<std::uint8_t, kLengthBytes> bytes{};
  if (const std::size_t got = file.read(bytes); got < bytes.size()) {
    file.refuse(concat("is too short: it has ", got, " bytes; expected at least ", kLengthBytes));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) length |= std::uint64_t{bytes[i]} << (8 * i);
  const std::uint64_t left = file.most_bytes() - kLengthBytes;
  if (length > kMostHeaderBytes || length > left) {
    file.refuse(concat("promises a header of ", length, " bytes; it has ", left, ", and ", kMostHeaderBytes,
                       " are allowed"));
  }
  return length;
}

void read_whole(InputFile& file, std::span<std::uint8_t> bytes) {
  if (file.read(bytes) < bytes.size()) file.refuse("became shorter while it was read");
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const TensorFile& file,
                       record::AtomicFile::Durable durable) {
  std::string header;
  try {
    header = format_header(header_of(file));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(concat("cannot write '", path.string(), "': ", error.what()));
  }
  record::AtomicFile output(path);
  std::ostream& out = output.stream();
  for (std::size_t i = 0; i < kLengthBytes; ++i) out.put(static_cast<char>(header.size() >> (8 * i) & 0xff));
  out << header;
  for (const std::size_t i : layout(file.tensors)) {
    const std::vector<std::byte>& bytes = file.tensors[i].bytes;
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  output.publish(durable);
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  InputFile input(path);
  std::vector<std::uint8_t> text(read_length(input));
  read_whole(input, text);
  TensorHeader header;
  try {
    header = parse_header({reinterpret_cast<const char*>(text.data()), text.size()},
                          input.most_bytes() - kLengthBytes - text.size());
  } catch (const InvalidArgument& error) {
    input.refuse(concat("is damaged: ", error.what()));
  }
  TensorFile file;
  file.metadata = std::move(header.metadata);
  std::vector<std::pair<std::uint64_t, std::size_t>> by_offset;
  for (TensorEntry& entry : header.entries) {
    by_offset.emplace_back(entry.end, file.tensors.size());
    file.tensors.push_back({std::move(entry.name), std::move(entry.dtype), std::move(entry.shape),
                            std::vector<std::byte>(entry.end - entry.begin)});
  }
  std::sort(by_offset.begin(), by_offset.end());
  for (const auto& [end, i] : by_offset) {
    std::vector<std::byte>& bytes = file.tensors[i].bytes;
    read_whole(input, {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
  }
  return file;
}

}  // namespace starling::data
