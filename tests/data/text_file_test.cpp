#include "starling/data/text_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace starling::data {
namespace {

std::string text_refusal(const std::string& path) {
  return testing::refusal([&] { read_text(path); });
}

TEST(TextFile, IsReadAsIndicesIntoItsAlphabet) {
  const testing::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 1009; ++i) text += "ba\xe9\n"[i % 4];
  const TextSet set = read_text(folder.write("text", text));
  EXPECT_EQ(set.alphabet, "\nab\xe9");
  EXPECT_EQ(set.train.size(), 909U);
  EXPECT_EQ(set.test.size(), 100U);
  std::string back;
  for (const std::uint8_t index : set.train) back += set.alphabet.at(index);
  for (const std::uint8_t index : set.test) back += set.alphabet.at(index);
  EXPECT_EQ(back, text);
}

TEST(TextFile, MayHaveAllBytes) {
  const testing::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 1024; ++i) text += static_cast<char>(i % 256);
  const TextSet set = read_text(folder.write("text", text));
  EXPECT_EQ(set.alphabet.size(), 256U);
  EXPECT_EQ(set.train[200], 200);
}

TEST(TextFile, WhatIsNoTextIsRefused) {
  const testing::TemporaryFolder folder;
  const std::string empty = folder.write("empty", ""), brief = folder.write("brief", std::string(999, 'x'));
  EXPECT_EQ(text_refusal("/nonexistent/text"),
            "'/nonexistent/text' cannot be read: No such file or directory");
  EXPECT_EQ(text_refusal(folder.path()), concat("'", folder.path(), "' is a folder; expected a file"));
  EXPECT_EQ(text_refusal("/dev/zero"), "'/dev/zero' is not a regular file");
  EXPECT_EQ(text_refusal(empty), concat("'", empty, "' is empty; expected at least 1000 bytes of text"));
  EXPECT_EQ(text_refusal(brief), concat("'", brief, "' has 999 bytes; allowed: 1000 to 1073741824"));
  std::filesystem::resize_file(brief, (1U << 30) + 1);
  EXPECT_EQ(text_refusal(brief), concat("'", brief, "' has 1073741825 bytes; allowed: 1000 to 1073741824"));
}

}  // namespace
}  // namespace starling::data
