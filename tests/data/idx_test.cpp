#include "starling/data/idx.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "starling/data/glyphs.h"
#include "tests/data/files.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace starling::data {
namespace {

namespace fs = std::filesystem;

// A folder with 3 training and 2 test pictures of 2 x 2.
class IdxTest : public ::testing::Test {
 protected:
  IdxTest() {
    folder_.write("train-images-idx3-ubyte", pictures(3));
    folder_.write("train-labels-idx1-ubyte", labels(3));
    folder_.write("t10k-images-idx3-ubyte", pictures(2));
    folder_.write("t10k-labels-idx1-ubyte", labels(2));
  }

  static std::string header(std::uint32_t count, std::uint32_t rows = 2, std::uint32_t columns = 2) {
    return big_endian(0x803) + big_endian(count) + big_endian(rows) + big_endian(columns);
  }
  static std::string pictures(std::uint32_t count) {
    std::string text = header(count);
    for (std::uint32_t i = 0; i < 4 * count; ++i) text += static_cast<char>(200 + i);
    return text;
  }
  static std::string labels(std::uint32_t count) {
    std::string text = big_endian(0x801) + big_endian(count);
    for (std::uint32_t i = 0; i < count; ++i) text += static_cast<char>(9 - i);
    return text;
  }

  std::string path(std::string_view name) const { return concat(folder_.path(), "/", name); }

  // The error when the first file has this content.
  std::string refusal_of(const std::string& content, const std::string& name = "train-images-idx3-ubyte") {
    folder_.write(name, content);
    return testing::refusal([&] { read_mnist(folder_.path()); });
  }
  std::string named(std::string_view why, std::string_view name = "train-images-idx3-ubyte") const {
    return concat("'", path(name), "' ", why);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(IdxTest, ReadsPicturesAndLabels) {
  const ImageSet set = read_mnist(folder_.path());
  EXPECT_EQ(set.train.size(), 3U);
  EXPECT_EQ(set.test.size(), 2U);
  EXPECT_EQ(set.train.channels, 1);
  EXPECT_EQ(set.train.height, 2);
  EXPECT_EQ(set.train.width, 2);
  EXPECT_EQ(set.train.classes, 10);
  EXPECT_EQ(set.test.pixels, (std::vector<std::uint8_t>{200, 201, 202, 203, 204, 205, 206, 207}));
  EXPECT_EQ(set.train.labels, (std::vector<std::uint8_t>{9, 8, 7}));
}

TEST_F(IdxTest, ReadsPackedFilesAndOtherNames) {
  const ImageSet plain = read_mnist(folder_.path());
  for (const char* const name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"}) {
    folder_.write(concat(name, ".gz"), gzip(content_of(path(name))));
    fs::remove(path(name));
  }
  fs::rename(path("t10k-images-idx3-ubyte"), path("t10k-images.idx3-ubyte"));
  folder_.write("t10k-labels.idx1-ubyte.gz", gzip(content_of(path("t10k-labels-idx1-ubyte"))));
  fs::remove(path("t10k-labels-idx1-ubyte"));
  const ImageSet other = read_mnist(folder_.path());
  EXPECT_EQ(other.train.pixels, plain.train.pixels);
  EXPECT_EQ(other.train.labels, plain.train.labels);
  EXPECT_EQ(other.test.pixels, plain.test.pixels);
  EXPECT_EQ(other.test.labels, plain.test.labels);
}

TEST_F(IdxTest, TheContentDecidesWhetherItIsPacked) {
  EXPECT_EQ(refusal_of(gzip(pictures(3))), "accepted");
  fs::remove(path("train-images-idx3-ubyte"));
  EXPECT_EQ(refusal_of(pictures(3), "train-images-idx3-ubyte.gz"), "accepted");
}

TEST_F(IdxTest, MissingFilesAreNamed) {
  EXPECT_EQ(testing::refusal([&] { read_mnist(path("none")); }),
            concat("there is no folder '", path("none"), "'"));
  EXPECT_EQ(testing::refusal([&] { read_mnist(path("train-images-idx3-ubyte")); }),
            concat("'", path("train-images-idx3-ubyte"), "' is not a folder"));
  fs::remove(path("t10k-labels-idx1-ubyte"));
  EXPECT_EQ(testing::refusal([&] { read_mnist(folder_.path()); }),
            concat("'", folder_.path(), "' has no file t10k-labels-idx1-ubyte or t10k-labels.idx1-ubyte, ",
                   "plain or with .gz"));
  fs::create_directory(path("t10k-labels-idx1-ubyte"));
  EXPECT_EQ(testing::refusal([&] { read_mnist(folder_.path()); }),
            named("is a folder; expected a file", "t10k-labels-idx1-ubyte"));
}

TEST_F(IdxTest, AWrongBeginningIsRefused) {
  EXPECT_EQ(refusal_of(labels(3)),
            named("begins with 0x00000801; expected 0x00000803 of IDX pictures, or gzip"));
  EXPECT_EQ(refusal_of("<html>not found</html>"),
            named("begins with 0x3c68746d; expected 0x00000803 of IDX pictures, or gzip"));
  EXPECT_EQ(refusal_of(""), named("is cut off inside its header, which has 16 bytes"));
  EXPECT_EQ(refusal_of(pictures(3).substr(0, 15)), named("is cut off inside its header, which has 16 bytes"));
}

TEST_F(IdxTest, AWrongLengthIsRefused) {
  const std::string whole = pictures(3);
  EXPECT_EQ(refusal_of(whole.substr(0, whole.size() - 1)),
            named("is cut off: it has 27 bytes; 3 pictures of 2 x 2 need 28"));
  EXPECT_EQ(refusal_of(gzip(whole.substr(0, whole.size() - 1))),
            named("is cut off: it has 27 bytes; 3 pictures of 2 x 2 need 28"));
  for (const std::string& longer : {whole + "x", gzip(whole + "x")}) {
    EXPECT_EQ(refusal_of(longer), named("has bytes behind its end; 3 pictures of 2 x 2 need 28"));
  }
}

// Without reserving memory for them: the sanitizers and small machines would not.
TEST_F(IdxTest, AbsurdSizesAreRefused) {
  constexpr std::uint32_t kHuge = 0xffffffff;
  EXPECT_EQ(refusal_of(header(kHuge, 2, 2)),
            named("promises 4294967295 pictures of 2 x 2, 17179869180 bytes; allowed: up to 4294967296"));
  EXPECT_EQ(refusal_of(header(kHuge / 4, 2, 2)),
            named("is cut off: it has 16 bytes; 1073741823 pictures of 2 x 2 need 4294967308"));
  const std::string packed = gzip(header(kHuge / 4, 2, 2));
  EXPECT_EQ(refusal_of(packed), named(concat("is cut off: it has at most ", 1032 * packed.size(),
                                             " bytes; 1073741823 pictures of 2 x 2 need 4294967308")));
  EXPECT_EQ(refusal_of(header(1, kHuge, 2)), named("has pictures of 4294967295 rows; allowed: 1 to 4096"));
  EXPECT_EQ(refusal_of(header(1, 2, 0)), named("has pictures of 0 columns; allowed: 1 to 4096"));
  EXPECT_EQ(refusal_of(header(0)), named("has 0 pictures; expected at least 1"));
}

TEST_F(IdxTest, DamagedGzipIsRefused) {
  std::string packed = gzip(pictures(3));
  EXPECT_EQ(refusal_of(packed.substr(0, packed.size() - 3)), named("is cut off: its gzip data have no end"));
  EXPECT_EQ(refusal_of(packed + "more"), named("has more bytes behind its gzip data"));
  std::string flipped = packed;
  flipped[packed.size() - 6] = static_cast<char>(~flipped[packed.size() - 6]);  // of the checksum
  EXPECT_EQ(refusal_of(flipped), named("has damaged gzip data: incorrect data check"));
  packed[2] = 9;
  EXPECT_EQ(refusal_of(packed), named("has damaged gzip data: unknown compression method"));
}

TEST_F(IdxTest, LabelsMustFit) {
  const std::string name = "t10k-labels-idx1-ubyte";
  EXPECT_EQ(refusal_of(labels(3), name), named("has 3 labels; expected 2, one for each picture", name));
  EXPECT_EQ(refusal_of(labels(2) + "x", name), named("has bytes behind its end; 2 labels need 10", name));
  EXPECT_EQ(refusal_of(labels(2).substr(0, 9), name),
            named("is cut off: it has 9 bytes; 2 labels need 10", name));
  std::string bad = labels(2);
  bad.back() = 10;
  EXPECT_EQ(refusal_of(bad, name), named("has label 10 at position 1; allowed: 0 to 9", name));
  EXPECT_EQ(refusal_of(pictures(2), name),
            named("begins with 0x00000803; expected 0x00000801 of IDX labels, or gzip", name));
}

TEST_F(IdxTest, BothPartsHaveOneSize) {
  EXPECT_EQ(refusal_of(header(2, 1, 2) + "abcd", "t10k-images-idx3-ubyte"),
            concat("'", folder_.path(), "' has training pictures of 2 x 2 and test pictures of 1 x 2; ",
                   "expected one size"));
}

TEST_F(IdxTest, WritesWhatItReads) {
  const ImageSet set = make_glyphs({30, 10, 4});
  write_idx(folder_.path(), set);
  const ImageSet read = read_mnist(folder_.path());
  EXPECT_EQ(read.train.pixels, set.train.pixels);
  EXPECT_EQ(read.train.labels, set.train.labels);
  EXPECT_EQ(read.test.pixels, set.test.pixels);
  EXPECT_EQ(read.test.labels, set.test.labels);
  EXPECT_EQ(content_of(path("train-images-idx3-ubyte")).substr(0, 16), header(30, 28, 28));
}

TEST_F(IdxTest, WritesNoColours) {
  ImageSet set;
  set.train.channels = 3;
  EXPECT_EQ(testing::refusal([&] { write_idx(folder_.path(), set); }),
            "pictures of 3 channels cannot be written as IDX; allowed: 1 (grey)");
}

TEST(Mnist, IsReadAsPublished) {
  const char* const variable = std::getenv("STARLING_MNIST");
  const fs::path folder =
      variable != nullptr ? fs::path(variable) : fs::path(STARLING_SOURCE_DIR) / "../shared/data/mnist";
  if (variable == nullptr && !fs::is_directory(folder)) {
    GTEST_SKIP() << "there is no MNIST here; STARLING_MNIST may name its folder";
  }
  const ImageSet set = read_mnist(folder);
  EXPECT_EQ(set.train.size(), 60'000U);
  EXPECT_EQ(set.test.size(), 10'000U);
  EXPECT_EQ(set.train.picture_bytes(), 28U * 28U);
  EXPECT_EQ(std::vector(set.train.labels.begin(), set.train.labels.begin() + 5),
            (std::vector<std::uint8_t>{5, 0, 4, 1, 9}));
  EXPECT_EQ(std::vector(set.test.labels.begin(), set.test.labels.begin() + 5),
            (std::vector<std::uint8_t>{7, 2, 1, 0, 4}));
}

}  // namespace
}  // namespace starling::data
