#include "starling/data/safetensors.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "starling/core/error.h"
#include "tests/data/files.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace starling::data {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

TensorFile example() {
  TensorFile file;
  file.metadata = {{"format", "pt"}, {"step", "7"}};
  file.tensors = {{"weight", "F32", {2, 3}, bytes_of<float>({1, 2, 3, 4, 5, 6})},
                  {"mask", "BOOL", {3}, bytes_of<std::uint8_t>({1, 0, 1})},
                  {"step", "I64", {}, bytes_of<std::int64_t>({-7})},
                  {"none", "F32", {0, 4}, {}}};
  return file;
}

// The file of this header and that many zero bytes.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return text + header + std::string(data_bytes, '\0');
}

class SafetensorsTest : public ::testing::Test {
 protected:
  // The error for this content, after the file's name.
  std::string refusal_of(const std::string& content) const {
    const std::string path = folder_.write("bad", content);
    const std::string said = testing::refusal([&] { read_safetensors(path); });
    const std::string start = concat("'", path, "' ");
    EXPECT_TRUE(said.starts_with(start)) << said;
    return said.starts_with(start) ? said.substr(start.size()) : said;
  }
  // The same of a header, after "is damaged: ".
  std::string damage_of(const std::string& header, std::size_t data_bytes) const {
    const std::string said = refusal_of(file_of(header, data_bytes));
    constexpr std::string_view kStart = "is damaged: ";
    EXPECT_TRUE(said.starts_with(kStart)) << said;
    return said.substr(std::min(said.size(), kStart.size()));
  }
  std::string write_refusal(const StoredTensor& tensor) const {
    TensorFile file = example();
    file.tensors.push_back(tensor);
    const std::string path = concat(folder_.path(), "/out");
    const std::string said = testing::refusal([&] { write_safetensors(path, file); });
    EXPECT_FALSE(std::filesystem::exists(path));
    const std::string start = concat("cannot write '", path, "': ");
    EXPECT_TRUE(said.starts_with(start)) << said;
    return said.substr(std::min(said.size(), start.size()));
  }

  testing::TemporaryFolder folder_;
};

TEST_F(SafetensorsTest, ReadsWhatItWrote) {
  const std::string path = concat(folder_.path(), "/model.safetensors");
  const TensorFile file = example();
  write_safetensors(path, file);
  const TensorFile back = read_safetensors(path);
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), file.tensors.size());
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    EXPECT_EQ(back.tensors[i].name, file.tensors[i].name);
    EXPECT_EQ(back.tensors[i].dtype, file.tensors[i].dtype);
    EXPECT_EQ(back.tensors[i].shape, file.tensors[i].shape);
    EXPECT_EQ(back.tensors[i].bytes, file.tensors[i].bytes);
  }
  write_safetensors(path, {});
  EXPECT_TRUE(read_safetensors(path).tensors.empty());
}

TEST_F(SafetensorsTest, HasTheBytesOfTheFormat) {
  const std::string path = concat(folder_.path(), "/small");
  TensorFile file;
  file.metadata = {{"a", "b"}};
  file.tensors = {{"u", "U8", {2}, bytes_of<std::uint8_t>({'x', 'y'})},
                  {"f", "F32", {1}, bytes_of<float>({1})}};
  write_safetensors(path, file);
  std::string header = R"({"__metadata__":{"a":"b"},"u":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},)"
                       R"("f":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  while (header.size() % 8 != 0) header += ' ';
  EXPECT_EQ(content_of(path), file_of(header, 0) + std::string("\0\0\x80\x3fxy", 6));
}

// The one of the set-up, if there is one.
std::string python_with_libraries() {
  const std::string own = STARLING_SOURCE_DIR "/.venv/bin/python";
  return std::filesystem::exists(own) ? concat("'", own, "'") : "python3";
}

TEST_F(SafetensorsTest, TheOfficialLibraryReadsIt) {
  const std::string python = python_with_libraries();
  if (std::system(concat(python, " -c 'import numpy, safetensors' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << python << " has no safetensors, or no numpy";
  }
  const std::string path = concat(folder_.path(), "/model.safetensors");
  const std::string back = concat(folder_.path(), "/back.safetensors");
  write_safetensors(path, example());
  const std::string script = folder_.write("check.py", R"(import sys
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
tensors = load_file(sys.argv[1])
assert sorted(tensors) == ["mask", "none", "step", "weight"], tensors
assert tensors["weight"].tolist() == [[1, 2, 3], [4, 5, 6]]
assert tensors["mask"].tolist() == [True, False, True]
assert tensors["step"].shape == () and int(tensors["step"]) == -7
assert tensors["none"].shape == (0, 4)
with safe_open(sys.argv[1], "numpy") as file:
    assert file.metadata() == {"format": "pt", "step": "7"}
save_file(tensors, sys.argv[2], {"format": "pt", "step": "7"})
)");
  ASSERT_EQ(std::system(concat(python, " '", script, "' '", path, "' '", back, "'").c_str()), 0);
  const TensorFile file = read_safetensors(back);
  EXPECT_EQ(file.metadata, example().metadata);
  EXPECT_EQ(file.tensors.size(), 4U);
  for (const StoredTensor& tensor : file.tensors) {
    for (const StoredTensor& original : example().tensors) {
      if (original.name == tensor.name) {
        EXPECT_EQ(original.bytes, tensor.bytes) << tensor.name;
      }
    }
  }
}

TEST_F(SafetensorsTest, AWrongLengthIsRefused) {
  EXPECT_EQ(refusal_of("1234567"), "is too short: it has 7 bytes; expected at least 8");
  EXPECT_EQ(refusal_of(file_of("{}", 0).substr(0, 9)),
            "promises a header of 2 bytes; it has 1, and 100000000 are allowed");
  EXPECT_EQ(refusal_of(std::string(8, '\xff')),
            "promises a header of 18446744073709551615 bytes; it has 0, and 100000000 are allowed");
  EXPECT_EQ(refusal_of(file_of("{}", 5)), "is damaged: it has 5 bytes behind the last tensor; expected none");
  EXPECT_EQ(testing::refusal([] { read_safetensors("/nonexistent"); }),
            "'/nonexistent' cannot be read: No such file or directory");
}

TEST_F(SafetensorsTest, AHeaderThatIsNoJsonIsRefused) {
  EXPECT_EQ(damage_of("{\"a\":", 0), "its header is not JSON: error at byte 6");
  EXPECT_EQ(damage_of("", 0), "its header is not JSON: error at byte 1");
  EXPECT_EQ(damage_of(std::string(100'000, '['), 0), "its header is not JSON: error at byte 100001");
  EXPECT_EQ(damage_of("[]", 0), "its header is not a JSON object");
  EXPECT_EQ(damage_of(R"({"__metadata__":1})", 0), "__metadata__ is not a JSON object");
  EXPECT_EQ(damage_of(R"({"__metadata__":{"a":1}})", 0), "__metadata__ 'a' is not a text");
}

TEST_F(SafetensorsTest, ABadTensorIsRefused) {
  const auto tensor = [](const std::string& rest) { return concat("{\"a\":{", rest, "}}"); };
  EXPECT_EQ(damage_of(R"({"a":1})", 0), "tensor 'a': it is not a JSON object");
  EXPECT_EQ(damage_of(tensor(R"("shape":[],"data_offsets":[0,4])"), 4),
            "tensor 'a': it has no dtype, expected a name such as F32");
  EXPECT_EQ(damage_of(tensor(R"("dtype":"F32","shape":3,"data_offsets":[0,4])"), 4),
            "tensor 'a': it has no shape, expected a list");
  EXPECT_EQ(damage_of(tensor(R"("dtype":"F32","shape":[1])"), 4),
            "tensor 'a': it has no data_offsets, expected a list");
  EXPECT_EQ(damage_of(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0])"), 4),
            "tensor 'a': its data_offsets are 1 numbers; expected 2");
  EXPECT_EQ(damage_of(tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4),
            "tensor 'a': its shape has -1; expected whole numbers from 0 on");
  EXPECT_EQ(damage_of(tensor(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,4])"), 4),
            "tensor 'a': its shape has 1.5; expected whole numbers from 0 on");
  EXPECT_NE(damage_of(tensor(R"("dtype":"F33","shape":[1],"data_offsets":[0,4])"), 4)
                .find("tensor 'a': unknown dtype 'F33'; allowed: F64, F32,"),
            std::string::npos);
  EXPECT_NE(damage_of(tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4])"), 4)
                .find("tensor 'a': bad shape [4294967296, 4294967296]"),
            std::string::npos);
  EXPECT_EQ(damage_of(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), 4),
            "tensor 'a': it has 4 bytes; shape [2] of F32 needs 8");
}

TEST_F(SafetensorsTest, EveryByteBelongsToOneTensor) {
  const auto two = [](const char* first, const char* second) {
    return concat(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)", first,
                  R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)", second, "}}");
  };
  EXPECT_EQ(damage_of(two("[0,4]", "[2,6]"), 6),
            "tensor 'b' begins at byte 2 and overlaps the one before it, which ends at 4");
  EXPECT_EQ(damage_of(two("[0,4]", "[6,10]"), 10), "bytes 4 to 6 before tensor 'b' belong to none");
  EXPECT_EQ(damage_of(two("[0,4]", "[4,8]"), 7),
            "tensor 'b': its bytes 4 to 8 are out of range; the file has 7 behind its header");
  EXPECT_EQ(damage_of(two("[4,0]", "[4,8]"), 8),
            "tensor 'a': its bytes 4 to 0 are out of range; the file has 8 behind its header");
  EXPECT_EQ(damage_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                      1),
            "tensor 'a' is in it twice");
  EXPECT_EQ(read_safetensors(folder_.write("good", file_of(two("[4,8]", "[0,4]"), 8))).tensors.size(), 2U);
}

TEST_F(SafetensorsTest, BadTensorsAreNotWritten) {
  EXPECT_EQ(write_refusal({"x", "F32", {2}, std::vector<std::byte>(4)}),
            "tensor 'x': it has 4 bytes; shape [2] of F32 needs 8");
  EXPECT_EQ(write_refusal({"step", "U8", {0}, {}}), "there are two tensors 'step'");
  EXPECT_EQ(write_refusal({"__metadata__", "U8", {0}, {}}), "no tensor can be named __metadata__");
  EXPECT_EQ(write_refusal({"\xff", "U8", {0}, {}}), "a tensor's name or the metadata are not UTF-8");
  EXPECT_NE(write_refusal({"x", "float", {0}, {}}).find("tensor 'x': unknown dtype 'float'"),
            std::string::npos);
  EXPECT_THROW(write_safetensors("/nonexistent/out", example()), Error);
}

}  // namespace
}  // namespace starling::data
