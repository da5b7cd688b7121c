#include "starling/data/text_file.h"

#include <array>

#include "starling/core/error.h"
#include "starling/data/input_file.h"

namespace starling::data {
namespace {

// A shorter text does not make a meaningful test set.
constexpr std::uint64_t kLeastTextBytes = 1000;
constexpr std::uint64_t kMostTextBytes = 1 << 30;

std::uint64_t size_of(const InputFile& file) {
  const std::uint64_t size = file.most_bytes();
  if (size == 0) file.refuse(concat("is empty; expected at least ", kLeastTextBytes, " bytes of text"));
  if (size < kLeastTextBytes || size > kMostTextBytes) {
    file.refuse(concat("has ", size, " bytes; allowed: ", kLeastTextBytes, " to ", kMostTextBytes));
  }
  return size;
}

std::uint64_t test_bytes(std::uint64_t size) { return size / 10; }

}  // namespace

std::size_t count_text(const std::filesystem::path& path) {
  const std::uint64_t size = size_of(InputFile(path));
  return size - test_bytes(size);
}

TextSet read_text(const std::filesystem::path& path) {
  InputFile file(path);
  const std::uint64_t size = size_of(file);
  std::vector<std::uint8_t> text(size);
  if (const std::size_t got = file.read(text); got < size) {
    file.refuse(concat("ended after ", got, " bytes while it was read; expected ", size));
  }
  std::array<bool, 256> occurs{};
  for (const std::uint8_t byte : text) occurs[byte] = true;
  TextSet set;
  std::array<std::uint8_t, 256> index{};
  for (std::size_t byte = 0; byte < occurs.size(); ++byte) {
    if (!occurs[byte]) continue;
    index[byte] = static_cast<std::uint8_t>(set.alphabet.size());
    set.alphabet.push_back(static_cast<char>(byte));
  }
  for (std::uint8_t& byte : text) byte = index[byte];
  const auto cut = text.end() - static_cast<std::ptrdiff_t>(test_bytes(size));
  set.test.assign(cut, text.end());
  text.erase(cut, text.end());
  set.train = std::move(text);
  return set;
}

}  // namespace starling::data
