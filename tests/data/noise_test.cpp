#include "starling/data/noise.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "starling/core/error.h"
#include "tests/data/files.h"

namespace starling::data {
namespace {

TEST(Noise, IsTheSameOnEveryMachine) {
  const ImageSet set = make_noise(100);
  EXPECT_EQ(fingerprint(set.train.pixels), 0x72b650a471676596ULL);
  EXPECT_EQ(fingerprint(set.train.labels), 0xb09be4a8ef6087cfULL);
  EXPECT_EQ(fingerprint(set.test.pixels), 0xc752ee827b32de63ULL);
}

TEST(Noise, HasTheFormOfCifar10) {
  const ImageSet set = make_noise(40);
  for (const auto& [images, size] : {std::pair(&set.train, 40U), std::pair(&set.test, 500U)}) {
    EXPECT_EQ(images->size(), size);
    EXPECT_EQ(images->pixels.size(), size * 3U * 32U * 32U);
    EXPECT_EQ(images->picture_bytes(), 3U * 32U * 32U);
    EXPECT_EQ(images->classes, 10);
    EXPECT_LT(*std::max_element(images->labels.begin(), images->labels.end()), 10);
  }
}

TEST(Noise, ASmallerSetIsTheBeginningOfALargerOne) {
  const ImageSet small = make_noise(7), large = make_noise(50);
  EXPECT_TRUE(std::equal(small.train.pixels.begin(), small.train.pixels.end(), large.train.pixels.begin()));
  EXPECT_TRUE(std::equal(small.train.labels.begin(), small.train.labels.end(), large.train.labels.begin()));
}

TEST(Noise, HasAllValues) {
  std::vector<std::uint8_t> pixels = make_noise(20).train.pixels;
  std::sort(pixels.begin(), pixels.end());
  EXPECT_EQ(std::unique(pixels.begin(), pixels.end()) - pixels.begin(), 256);
}

TEST(Noise, IsLoadedByItsName) {
  EXPECT_EQ(std::get<ImageSet>(load("noise:64", "--data")).train.size(), 64U);
  for (const char* const count : {"0", "-3", "many", "1000001"}) {
    EXPECT_THROW(load(concat("noise:", count), "--data"), InvalidArgument) << count;
  }
}

}  // namespace
}  // namespace starling::data
