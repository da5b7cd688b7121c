// Runs of `starling train` in tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "starling/core/text.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace starling::cli {

// Whether this build can train at all.
bool has_trainer();

// Without the trainer a test says so instead of failing.
#define STARLING_NEEDS_TRAINER() \
  if (!has_trainer()) GTEST_SKIP() << "starling-trainer was not built: LibTorch was not found"

// The words of `starling train` with these flags, which are parted by spaces.
inline Words train(const std::string& flags) {
  Words words{"train"};
  for (const std::string& word : split(flags, ' ')) words.push_back(word);
  return words;
}

// A small set for runs that need not learn: " --data mnist:DIR", 246 pictures to learn from and 50 to be
// judged by. What the glyphs cost is the time to draw them, in every process.
std::string few_pictures(const testing::TemporaryFolder& folder);

// A run that succeeds and prints nothing on stderr; its files are then in `out`.
std::string train_into(const std::string& out, const std::string& flags);

// The summary that a run prints.
Json trained(const std::string& flags);

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline std::string model_of(const std::string& folder) { return bytes_of(folder + "/model.safetensors"); }

inline Json summary_in(const std::string& folder) {
  return Json::parse(bytes_of(folder + "/summary.json"), nullptr, false);
}

// The processes, by rank, of the run that process `launcher` has started.
std::map<int, pid_t> processes_of(pid_t launcher);

// The paths of what is in it, at any depth, in order and relative to it.
Words files_below(const std::string& folder);

}  // namespace starling::cli
