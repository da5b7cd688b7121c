#include "tests/cli/train_runs.h"

#include "starling/data/glyphs.h"
#include "starling/data/idx.h"

namespace starling::cli {

namespace fs = std::filesystem;

bool has_trainer() { return fs::exists(fs::path(program_path()).parent_path() / "starling-trainer"); }

namespace {

// With --pace the machine may be too slow, and the program says so.
void expect_silent(const Ran& ran, const std::string& flags) {
  if (flags.find("--pace") != std::string::npos) return;
  EXPECT_EQ(ran.err, "") << flags;
}

}  // namespace

std::string few_pictures(const testing::TemporaryFolder& folder) {
  data::ImageSet set = data::make_glyphs();
  const auto cut = [](data::Images& images, std::size_t count) {
    images.pixels.resize(count * images.picture_bytes());
    images.labels.resize(count);
  };
  cut(set.train, 246);
  cut(set.test, 50);
  const std::string out = folder.path() + "/pictures";
  fs::create_directory(out);
  data::write_idx(out, set);
  return " --data mnist:" + out;
}

std::string train_into(const std::string& out, const std::string& flags) {
  const Ran ran = run_program(train(concat(flags, " --json --out ", out)));
  EXPECT_EQ(ran.exit_code, 0) << flags << "\n" << ran.err;
  expect_silent(ran, flags);
  return out;
}

Json trained(const std::string& flags) {
  const Ran ran = run_program(train(flags + " --json"));
  EXPECT_EQ(ran.exit_code, 0) << flags << "\n" << ran.err;
  expect_silent(ran, flags);
  return Json::parse(ran.out, nullptr, false);
}

Words files_below(const std::string& folder) {
  Words names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) names.push_back(fs::relative(entry.path(), folder).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace starling::cli
