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

// The value of the variable in a process's environment; empty if it is not set.
std::string variable_of(const fs::path& process, const std::string& name) {
  for (const std::string& word : split(bytes_of(process / "environ"), '\0')) {
    if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
  }
  return "";
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

std::map<int, pid_t> processes_of(pid_t launcher) {
  std::map<int, pid_t> processes;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string arena = variable_of(entry.path(), "STARLING_ARENA");
    if (!arena.starts_with(concat("starling-", launcher, "-"))) continue;
    processes[std::stoi(variable_of(entry.path(), "STARLING_RANK"))] = std::stoi(name);
  }
  return processes;
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
