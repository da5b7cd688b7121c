#include "starling/data/glyphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/data/files.h"

namespace starling::data {
namespace {

std::string picture(const Images& images, std::size_t i) {
  const auto begin = images.pixels.begin() + static_cast<std::ptrdiff_t>(i * images.picture_bytes());
  return {begin, begin + static_cast<std::ptrdiff_t>(images.picture_bytes())};
}

// These pictures are what results were published with: a change of the drawing makes another data set.
TEST(Glyphs, AreTheSameOnEveryMachine) {
  const ImageSet set = make_glyphs();
  EXPECT_EQ(fingerprint(set.train.pixels), 0x9cc82aac97c4f271ULL);
  EXPECT_EQ(fingerprint(set.train.labels), 0xc2747b80b4375a3ULL);
  EXPECT_EQ(fingerprint(set.test.pixels), 0xf997631af0e63f85ULL);
  EXPECT_EQ(fingerprint(set.test.labels), 0x7b4a2a237f6036e7ULL);
}

TEST(Glyphs, HaveTheSizesOfTheSetting) {
  const ImageSet set = make_glyphs({30, 20, 5});
  for (const auto& [images, size] : {std::pair(&set.train, 30U), std::pair(&set.test, 20U)}) {
    EXPECT_EQ(images->size(), size);
    EXPECT_EQ(images->pixels.size(), size * 28U * 28U);
    EXPECT_EQ(images->picture_bytes(), 28U * 28U);
    EXPECT_EQ(images->channels, 1);
    EXPECT_EQ(images->classes, 10);
  }
  EXPECT_EQ(make_glyphs({0, 0, 1}).train.size(), 0U);
}

TEST(Glyphs, ASmallerSetIsTheBeginningOfALargerOne) {
  const ImageSet small = make_glyphs({37, 11, 9}), large = make_glyphs({200, 50, 9});
  for (std::size_t i = 0; i < 37; ++i) {
    EXPECT_EQ(picture(small.train, i), picture(large.train, i));
    EXPECT_EQ(small.train.labels[i], large.train.labels[i]);
  }
  for (std::size_t i = 0; i < 11; ++i) EXPECT_EQ(picture(small.test, i), picture(large.test, i));
}

TEST(Glyphs, SeedsGiveOtherPictures) {
  EXPECT_NE(make_glyphs({50, 0, 1}).train.pixels, make_glyphs({50, 0, 2}).train.pixels);
  EXPECT_NE(make_glyphs({50, 0, 1}).train.labels, make_glyphs({50, 0, 2}).train.labels);
}

TEST(Glyphs, NoPictureIsThereTwice) {
  const ImageSet set = make_glyphs({3000, 1000, 1});
  std::set<std::string> pictures;
  for (std::size_t i = 0; i < 3000; ++i) pictures.insert(picture(set.train, i));
  for (std::size_t i = 0; i < 1000; ++i) pictures.insert(picture(set.test, i));
  EXPECT_EQ(pictures.size(), 4000U);
}

TEST(Glyphs, EachTenHaveAllDigitsInChangingOrder) {
  const ImageSet set = make_glyphs({1000, 0, 3});
  std::set<std::string> orders;
  for (std::size_t i = 0; i < 1000; i += 10) {
    const auto begin = set.train.labels.begin() + static_cast<std::ptrdiff_t>(i);
    std::string ten(begin, begin + 10);
    orders.insert(ten);
    std::sort(ten.begin(), ten.end());
    for (int digit = 0; digit < 10; ++digit) EXPECT_EQ(ten[static_cast<std::size_t>(digit)], digit);
  }
  EXPECT_GT(orders.size(), 95U);
}

// Ink stands out from the paper in every picture.
TEST(Glyphs, EveryPictureShowsSomething) {
  const ImageSet set = make_glyphs({2000, 0, 1});
  for (std::size_t i = 0; i < set.train.size(); ++i) {
    std::string pixels = picture(set.train, i);
    std::sort(pixels.begin(), pixels.end(), [](std::uint8_t a, std::uint8_t b) { return a > b; });
    const auto mean = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
      return std::accumulate(pixels.begin() + from, pixels.begin() + to, 0.,
                             [](double sum, std::uint8_t pixel) { return sum + pixel; }) /
             static_cast<double>(to - from);
    };
    EXPECT_GT(mean(0, 30) - mean(392, 784), 50) << "picture " << i;
  }
}

}  // namespace
}  // namespace starling::data
