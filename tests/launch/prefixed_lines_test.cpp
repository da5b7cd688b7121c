#include "starling/launch/prefixed_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "starling/core/descriptor.h"
#include "starling/core/text.h"
#include "starling/join/output_options.h"

namespace starling::launch {
namespace {

// The text that the lines wrote.
std::string written(PrefixedLines::Progress progress, std::string_view text) {
  DescriptorPair pipe = make_pipe();
  PrefixedLines lines("[0] ", pipe.second.get(), progress);
  lines.add(text.substr(0, text.size() / 2));  // in two pieces
  lines.add(text.substr(text.size() / 2));
  lines.flush();
  pipe.second = {};
  std::string all(4096, ' ');
  const ssize_t count = read(pipe.first.get(), all.data(), all.size());
  all.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return all;
}

std::string progress_line(std::string_view text) { return concat(join::kProgressPrefix, text, "\n"); }

TEST(PrefixedLines, EachLineGetsThePrefix) {
  EXPECT_EQ(written(PrefixedLines::Progress::kNone, "a\nb\nc"), "[0] a\n[0] b\n[0] c\n");
}

TEST(PrefixedLines, ProgressIsOneLineOnATerminal) {
  EXPECT_EQ(written(PrefixedLines::Progress::kTerminal, progress_line("1 s") + "a\n" + progress_line("2 s")),
            "\r\033[K1 s\r\033[K[0] a\n\r\033[K2 s");
}

TEST(PrefixedLines, ElsewhereProgressIsShownNowAndThen) {
  EXPECT_EQ(
      written(PrefixedLines::Progress::kNowAndThen, progress_line("1 s") + "a\n" + progress_line("2 s")),
      "1 s\n[0] a\n");
}

}  // namespace
}  // namespace starling::launch
