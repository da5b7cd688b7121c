// Runs of `starling simulate` in tests.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "starling/core/text.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace starling::cli {

inline Words simulate(const std::string& flags) {
  Words words{"simulate"};
  for (const std::string& word : split(flags, ' ')) words.push_back(word);
  return words;
}

// The output of a run that must succeed.
inline std::string output_of(const Words& words) {
  const Ran ran = run_program(words);
  EXPECT_EQ(ran.exit_code, 0) << join_texts(words, " ") << "\n" << ran.err;
  EXPECT_EQ(ran.err, "") << join_texts(words, " ");
  return ran.out;
}

inline Json summary_of(const std::string& flags) {
  return Json::parse(output_of(simulate(flags + " --json")), nullptr, false);
}

inline std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The names of what is in it, in order.
inline std::string files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return join_texts(names);
}

}  // namespace starling::cli
