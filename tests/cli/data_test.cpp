// `starling data`: descriptions, and IDX files for other programs.
#include <gtest/gtest.h>

#include <algorithm>

#include "starling/data/glyphs.h"
#include "starling/data/idx.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;

TEST(Data, DescribesPictures) {
  const Ran ran = run_program({"data", "glyphs"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(
      ran.out.starts_with("glyphs: grey pictures of 28 x 28 in 10 classes\n"
                          "  train   12000 pictures, 1200 to 1200 of a class\n"
                          "  test    2000 pictures, 200 to 200 of a class\n\n"))
      << ran.out;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 4 + 1 + 14);
}

TEST(Data, DescribesTexts) {
  const testing::TemporaryFolder folder;
  const std::string name = "text:" + folder.write("text", std::string(1500, 'a') + std::string(500, 'b'));
  EXPECT_EQ(
      run_program({"data", name}).out,
      concat(name, ": a text with an alphabet of 2 bytes\n  train   1800 bytes\n  test    200 bytes\n"));
}

TEST(Data, WritesFilesThatAreRead) {
  const testing::TemporaryFolder folder;
  const std::string out = concat(folder.path(), "/a/b");
  const Ran ran = run_program({"data", "glyphs", "--out", out});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  std::string listed;
  for (const std::string_view file : data::kIdxFiles) listed += concat(out, "/", file, "\n");
  EXPECT_EQ(ran.out, listed);
  const data::ImageSet set = data::read_mnist(out);
  EXPECT_EQ(set.train.pixels, data::make_glyphs().train.pixels);
  EXPECT_EQ(set.test.labels, data::make_glyphs().test.labels);
  EXPECT_EQ(run_program({"data", "mnist:" + out}).exit_code, 0);
}

TEST(Data, ReplacesOnlyWhenForced) {
  const testing::TemporaryFolder folder;
  const std::string mine = folder.write("mine", "x");
  expect_refused({"data", "glyphs", "--out", folder.path()}, folder.path(),
                 "is not empty; --force replaces the data set that is in it");
  folder.write("train-labels-idx1-ubyte", "old");
  EXPECT_EQ(run_program({"data", "glyphs", "--out", folder.path(), "--force"}).exit_code, 0);
  EXPECT_EQ(data::read_mnist(folder.path()).test.size(), 2'000U);
  EXPECT_TRUE(fs::exists(mine));
}

TEST(Data, RefusesWhatItCannotDo) {
  const testing::TemporaryFolder folder;
  const std::string name = "text:" + folder.write("text", std::string(1500, 'a'));
  const std::string out = concat(folder.path(), "/out");
  expect_refused({"data", name, "--out", out}, concat("'", name, "'"), "sets of grey pictures");
  EXPECT_FALSE(fs::exists(out));
  expect_refused({"data"}, "name", "required");
  expect_refused({"data", "glyph"}, "'glyph'", "did you mean 'glyphs'?");
  expect_refused({"data", "mnist:/nonexistent"}, "'/nonexistent'", "no folder");
  expect_refused({"data", "glyphs", "--force"}, "--force", "--out");
  expect_refused({"data", "glyphs", "more"}, "more", "see starling data --help");
}

}  // namespace
}  // namespace starling::cli
