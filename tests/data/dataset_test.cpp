#include "starling/data/dataset.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "starling/core/text.h"
#include "starling/data/glyphs.h"
#include "starling/data/idx.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace starling::data {
namespace {

std::string dataset_refusal(std::string_view name) {
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
  EXPECT_EQ(dataset_refusal("mnist:/none"), "--data: there is no folder '/none'");
  EXPECT_EQ(dataset_refusal("cifar10:/none"), "--data: there is no folder '/none'");
  EXPECT_EQ(dataset_refusal("text:/none"), "--data: '/none' cannot be read: No such file or directory");
}

TEST(Load, RefusesOtherNames) {
  const std::string forms = "; there are glyphs, mnist:DIR, cifar10:DIR, text:FILE, noise:COUNT";
  EXPECT_EQ(dataset_refusal("imagenet"), "--data: unknown data 'imagenet'" + forms);
  EXPECT_EQ(dataset_refusal(""), "--data: unknown data ''" + forms);
  EXPECT_EQ(dataset_refusal("glyph"), "--data: unknown data 'glyph', did you mean 'glyphs'?" + forms);
  EXPECT_EQ(dataset_refusal("cifar:/x"),
            "--data: unknown data 'cifar:/x', did you mean 'cifar10:DIR'?" + forms);
  EXPECT_EQ(dataset_refusal("mnist"), "--data: bad data 'mnist'; expected mnist:DIR");
  EXPECT_EQ(dataset_refusal("text:"), "--data: bad data 'text:'; expected text:FILE");
  EXPECT_EQ(dataset_refusal("glyphs:7"), "--data: bad data 'glyphs:7'; glyphs takes nothing behind its name");
}

// The launcher knows what the workers will find.
void expect_described(const std::string& name) {
  const Description described = describe(name, "--data");
  const DataSet loaded = load(name, "--data");
  EXPECT_EQ(described.is_text, std::holds_alternative<TextSet>(loaded)) << name;
  EXPECT_EQ(described.train, described.is_text ? std::get<TextSet>(loaded).train.size()
                                               : std::get<ImageSet>(loaded).train.size())
      << name;
}

TEST(Describe, TellsTheSizeOfWhatIsLoaded) {
  const testing::TemporaryFolder folder;
  expect_described("glyphs");
  expect_described("noise:7");
  expect_described("text:" + folder.write("text", std::string(1019, 'x')));
  write_idx(folder.path(), make_glyphs({.train = 30, .test = 10}));
  expect_described("mnist:" + folder.path());
  const std::string records(2 * 3073, '\0');
  for (const char* const name : {"1", "2", "3", "4", "5"})
    folder.write(concat("data_batch_", name, ".bin"), records);
  folder.write("test_batch.bin", records);
  expect_described("cifar10:" + folder.path());
}

TEST(Describe, RefusesWhatLoadRefuses) {
  const auto same_refusal = [](const std::string& name) {
    const std::string described = testing::refusal([&] { describe(name, "--data"); });
    EXPECT_EQ(described, dataset_refusal(name));
    EXPECT_NE(described, "accepted") << name;
  };
  for (const char* const name :
       {"imagenet", "mnist", "glyphs:7", "mnist:/none", "cifar10:/none", "text:/none", "noise:0", "noise:x"})
    same_refusal(name);
  const testing::TemporaryFolder folder;
  same_refusal("text:" + folder.write("short", "x"));
  write_idx(folder.path(), make_glyphs({.train = 30, .test = 10}));
  const std::string pictures(kIdxFiles[0]), labels(kIdxFiles[1]);
  const std::filesystem::path at = folder.path();
  std::filesystem::resize_file(at / pictures, 1000);
  same_refusal("mnist:" + folder.path());
  std::filesystem::resize_file(at / pictures, 16 + 30 * 28 * 28 + 1);
  same_refusal("mnist:" + folder.path());
  std::filesystem::resize_file(at / pictures, 16 + 30 * 28 * 28);
  std::filesystem::resize_file(at / labels, 20);
  same_refusal("mnist:" + folder.path());
  folder.write("data_batch_1.bin", std::string(3072, '\0'));
  same_refusal("cifar10:" + folder.path());
  folder.write("data_batch_1.bin", std::string(3073, '\x0b'));
  same_refusal("cifar10:" + folder.path());
}

}  // namespace
}  // namespace starling::data
