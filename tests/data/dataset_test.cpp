#include "starling/data/dataset.h"

#include <gtest/gtest.h>

#include "starling/data/glyphs.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace starling::data {
namespace {

std::string refusal_of(std::string_view name) {
  return testing::refusal([&] { load(name, "--data"); });
}

TEST(Load, KnowsEveryForm) {
  EXPECT_EQ(data_forms(), "glyphs, mnist:DIR, cifar10:DIR, text:FILE, noise:COUNT");
  const auto glyphs = std::get<ImageSet>(load("glyphs", "--data"));
  EXPECT_EQ(glyphs.train.size(), 12'000U);
  EXPECT_EQ(glyphs.test.size(), 2'000U);
  EXPECT_EQ(glyphs.test.pixels, make_glyphs().test.pixels);
  const testing::TemporaryFolder folder;
  const std::string file = folder.write("a:b", std::string(1000, 'x'));
  EXPECT_EQ(std::get<TextSet>(load("text:" + file, "--data")).alphabet, "x");
}

TEST(Load, StartsWithTheFlagAndNamesTheFile) {
  EXPECT_EQ(refusal_of("mnist:/none"), "--data: there is no folder '/none'");
  EXPECT_EQ(refusal_of("cifar10:/none"), "--data: there is no folder '/none'");
  EXPECT_EQ(refusal_of("text:/none"), "--data: '/none' cannot be read: No such file or directory");
}

TEST(Load, RefusesOtherNames) {
  const std::string forms = "; there are glyphs, mnist:DIR, cifar10:DIR, text:FILE, noise:COUNT";
  EXPECT_EQ(refusal_of("imagenet"), "--data: unknown data 'imagenet'" + forms);
  EXPECT_EQ(refusal_of(""), "--data: unknown data ''" + forms);
  EXPECT_EQ(refusal_of("glyph"), "--data: unknown data 'glyph', did you mean 'glyphs'?" + forms);
  EXPECT_EQ(refusal_of("cifar:/x"), "--data: unknown data 'cifar:/x', did you mean 'cifar10:DIR'?" + forms);
  EXPECT_EQ(refusal_of("mnist"), "--data: bad data 'mnist'; expected mnist:DIR");
  EXPECT_EQ(refusal_of("text:"), "--data: bad data 'text:'; expected text:FILE");
  EXPECT_EQ(refusal_of("glyphs:7"), "--data: bad data 'glyphs:7'; glyphs takes nothing behind its name");
}

}  // namespace
}  // namespace starling::data
