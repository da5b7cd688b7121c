#include "starling/data/cifar10.h"

#include <gtest/gtest.h>

#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace starling::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRecord = 3073;

std::string batch(std::size_t pictures, char first_label) {
  std::string text;
  for (std::size_t i = 0; i < pictures; ++i) {
    text += static_cast<char>(first_label + static_cast<char>(i));
    for (std::size_t j = 1; j < kRecord; ++j) text += static_cast<char>(j / 1024);  // its channel, nearly
  }
  return text;
}

class Cifar10Test : public ::testing::Test {
 protected:
  Cifar10Test() {
    for (char i = 1; i <= 5; ++i) folder_.write(concat("data_batch_", int{i}, ".bin"), batch(2, i));
    folder_.write("test_batch.bin", batch(3, 0));
  }

  std::string refusal() const {
    return testing::refusal([&] { read_cifar10(folder_.path()); });
  }
  std::string named(std::string_view name, std::string_view why) const {
    return concat("'", folder_.path(), "/", name, "' ", why);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(Cifar10Test, ReadsTheBatches) {
  const ImageSet set = read_cifar10(folder_.path());
  EXPECT_EQ(set.train.labels, (std::vector<std::uint8_t>{1, 2, 2, 3, 3, 4, 4, 5, 5, 6}));
  EXPECT_EQ(set.test.labels, (std::vector<std::uint8_t>{0, 1, 2}));
  EXPECT_EQ(set.train.channels, 3);
  EXPECT_EQ(set.train.height, 32);
  EXPECT_EQ(set.train.width, 32);
  EXPECT_EQ(set.train.classes, 10);
  ASSERT_EQ(set.train.pixels.size(), 10 * set.train.picture_bytes());
  EXPECT_EQ(set.train.pixels[0], 0);
  EXPECT_EQ(set.train.pixels[1024], 1);
  EXPECT_EQ(set.train.pixels[3 * 3072 + 3070], 2);
}

TEST_F(Cifar10Test, FindsTheFolderOfTheArchive) {
  const fs::path inner = fs::path(folder_.path()) / "cifar-10-batches-bin";
  fs::create_directory(inner);
  for (int i = 1; i <= 5; ++i) {
    const std::string name = concat("data_batch_", i, ".bin");
    fs::rename(fs::path(folder_.path()) / name, inner / name);
  }
  fs::rename(fs::path(folder_.path()) / "test_batch.bin", inner / "test_batch.bin");
  EXPECT_EQ(read_cifar10(folder_.path()).train.size(), 10U);
  EXPECT_EQ(read_cifar10(inner).train.size(), 10U);
}

TEST_F(Cifar10Test, MissingFilesAreNamed) {
  fs::remove(fs::path(folder_.path()) / "data_batch_4.bin");
  EXPECT_EQ(refusal(), named("data_batch_4.bin", "cannot be read: No such file or directory"));
  EXPECT_EQ(testing::refusal([] { read_cifar10("/nonexistent"); }), "there is no folder '/nonexistent'");
}

TEST_F(Cifar10Test, AWrongLengthIsRefused) {
  const std::string whole = batch(2, 0);
  for (const std::string& bad : {whole + "x", whole.substr(0, 6145), std::string()}) {
    folder_.write("test_batch.bin", bad);
    EXPECT_EQ(refusal(), named("test_batch.bin",
                               concat("has ", bad.size(), " bytes; expected 1 to 1000000 records of 3073")));
  }
  folder_.write("data_batch_3.bin", batch(1, 0));
  EXPECT_EQ(refusal(), named("data_batch_3.bin", "has 1 pictures; expected 2 as in data_batch_1.bin"));
}

TEST_F(Cifar10Test, AbsurdSizesAreRefused) {
  fs::resize_file(fs::path(folder_.path()) / "data_batch_1.bin", kRecord * 1'000'001);
  EXPECT_EQ(refusal(),
            named("data_batch_1.bin", "has 3073003073 bytes; expected 1 to 1000000 records of 3073"));
}

TEST_F(Cifar10Test, LabelsMustFit) {
  folder_.write("data_batch_2.bin", batch(2, 9));
  EXPECT_EQ(refusal(), named("data_batch_2.bin", "has label 10 in record 1; allowed: 0 to 9"));
}

}  // namespace
}  // namespace starling::data
