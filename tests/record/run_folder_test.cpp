#include "starling/record/run_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "starling/core/error.h"
#include "starling/record/atomic_file.h"

namespace starling::record {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public ::testing::Test {
 protected:
  RunFolderTest() {
    std::string name = (fs::temp_directory_path() / "starling-folder-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error("no temporary folder");
    root_ = name;
  }
  ~RunFolderTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void put(const fs::path& file, const std::string& text) const { std::ofstream(file) << text; }
  static std::string read(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static std::string refusal(const fs::path& path, bool force = false, std::uint64_t bytes = 0) {
    try {
      const RunFolder folder(path, force, bytes);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  }

  fs::path root_;
};

TEST_F(RunFolderTest, IsCreatedWithItsParentsAndLeftEmpty) {
  const RunFolder folder(root_ / "a" / "b");
  EXPECT_TRUE(fs::is_directory(root_ / "a" / "b"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_EQ(refusal((root_ / "c").string() + "/"), "accepted");
}

TEST_F(RunFolderTest, AnEmptyOneIsFine) { EXPECT_EQ(refusal(root_), "accepted"); }

TEST_F(RunFolderTest, WhatIsNotEmptyIsRefused) {
  put(root_ / "notes.txt", "mine");
  EXPECT_EQ(refusal(root_),
            concat("--out: '", root_.string(), "' is not empty; --force replaces the run that is in it"));
}

TEST_F(RunFolderTest, ForceRemovesWhatRunsLeaveAndNothingElse) {
  fs::create_directory(root_ / "mine");
  for (const char* name : {"notes.txt", "run.json.old"}) put(root_ / name, "mine");
  for (const std::string_view name : kRunFiles) put(root_ / name, "old");
  put(root_ / "trace.json.part", "old");
  EXPECT_EQ(refusal(root_, true), "accepted");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 3);
  EXPECT_EQ(read(root_ / "notes.txt"), "mine");
}

TEST_F(RunFolderTest, OtherContentsHaveOtherFilesAndAnotherName) {
  constexpr std::string_view kFiles[] = {"pictures"};
  const Contents contents{"data set", kFiles};
  for (const char* name : {"pictures", "run.json"}) put(root_ / name, "old");
  try {
    const RunFolder folder(root_, false, 0, contents);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.what(), concat("--out: '", root_.string(),
                                   "' is not empty; --force replaces the data set that is in it"));
  }
  EXPECT_NO_THROW(RunFolder(root_, true, 0, contents));
  EXPECT_FALSE(fs::exists(root_ / "pictures"));
  EXPECT_EQ(read(root_ / "run.json"), "old");
}

TEST_F(RunFolderTest, ForceDoesNotRemoveAnythingIfItCannotRemoveAll) {
  put(root_ / "run.json", "old");
  fs::create_directory(root_ / "trace.json");
  EXPECT_EQ(refusal(root_, true), concat("--out: '", root_.string(), "' has a folder named trace.json"));
  EXPECT_EQ(read(root_ / "run.json"), "old");
}

TEST_F(RunFolderTest, AFileIsNoFolder) {
  put(root_ / "file", "");
  const std::string file = (root_ / "file").string();
  EXPECT_EQ(refusal(file), concat("--out: '", file, "' is not a folder"));
  EXPECT_EQ(refusal(file, true), concat("--out: '", file, "' is not a folder"));
  EXPECT_EQ(refusal(root_ / "file" / "below"),
            concat("--out: '", file, "/below' cannot be created: Not a directory"));
}

TEST_F(RunFolderTest, WhatCannotBeWrittenToIsRefused) {
  EXPECT_EQ(refusal(""), "--out: the name of the folder is empty");
  EXPECT_NE(refusal("/proc/starling").find("--out: '/proc/starling' cannot be created: "), std::string::npos);
  EXPECT_NE(refusal("/proc/self", true).find("--out: '/proc/self' cannot be written to: "),
            std::string::npos);
}

TEST_F(RunFolderTest, AFullDiskIsRefused) {
  EXPECT_NE(refusal(root_, false, std::uint64_t{1} << 60).find(" MiB left on its disk; the run needs "),
            std::string::npos);
  const std::uint64_t mebibyte = 1 << 20;
  EXPECT_NO_THROW(check_room("x", 16 * mebibyte, 0));
  EXPECT_NO_THROW(check_room("x", 20 * mebibyte, 4 * mebibyte));
  EXPECT_THROW(check_room("x", 16 * mebibyte - 1, 0), InvalidArgument);
  try {
    check_room("x", 17 * mebibyte, 4 * mebibyte - 1);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "--out: 'x' has 17 MiB left on its disk; the run needs 20 MiB");
  }
}

TEST_F(RunFolderTest, WritesFilesWhole) {
  const RunFolder folder(root_);
  folder.write("summary.json", "{}\n");
  folder.write("summary.json", "{\"a\": 1}\n");
  folder.write("trace.json", [](std::ostream& out) {
    for (int i = 0; i < 100'000; ++i) out << "line\n";
  });
  EXPECT_EQ(read(root_ / "summary.json"), "{\"a\": 1}\n");
  EXPECT_EQ(fs::file_size(root_ / "trace.json"), 500'000U);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 2);
}

TEST_F(RunFolderTest, WhatCannotBeWrittenLeavesNothing) {
  const RunFolder folder(root_ / "out");
  EXPECT_THROW(folder.write("run.json", [](std::ostream&) { throw Error("no more"); }), Error);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  fs::remove(folder.path());
  try {
    folder.write("run.json", "text");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              concat("cannot write ", (root_ / "out" / "run.json").string(), ": No such file or directory"));
  }
}

TEST_F(RunFolderTest, AFileThatCannotBeReplacedIsAnError) {
  const RunFolder folder(root_);
  fs::create_directory(root_ / "run.json");
  EXPECT_THROW(folder.write("run.json", "text"), Error);
  EXPECT_FALSE(fs::exists(root_ / "run.json.part"));
}

TEST_F(RunFolderTest, ADiskThatFillsUpIsNoticedAtTheEnd) {
  const int descriptor = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{1} << 20}) {
    DescriptorBuffer buffer(descriptor);
    std::ostream(&buffer) << std::string(bytes, 'x');
    EXPECT_EQ(buffer.finish(), ENOSPC);
  }
  ::close(descriptor);
}

TEST_F(RunFolderTest, AFileThatCannotBeWrittenWholeIsNotThere) {
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{1000, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  std::string why = "none";
  try {
    RunFolder(root_).write("trace.json", std::string(100'000, 'x'));
  } catch (const Error& error) {
    why = error.what();
  }
  ::signal(SIGXFSZ, handler);
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(why, concat("cannot write ", (root_ / "trace.json").string(), ": File too large"));
  EXPECT_TRUE(fs::is_empty(root_));
}

// So a process that is killed meanwhile leaves nothing.
TEST_F(RunFolderTest, AFileHasNoNameWhileItIsWritten) {
  AtomicFile file(root_ / "trace.json");
  file.stream() << "half" << std::flush;
  if (fs::exists(root_ / "trace.json.part")) GTEST_SKIP() << "the file system has no nameless files";
  EXPECT_TRUE(fs::is_empty(root_));
  put(root_ / "trace.json.part", "of an earlier run");
  file.publish();
  EXPECT_EQ(read(root_ / "trace.json"), "half");
  EXPECT_FALSE(fs::exists(root_ / "trace.json.part"));
}

TEST_F(RunFolderTest, WhatIsRefusedIsNotCreated) {
  EXPECT_NE(refusal(root_ / "a" / "b", false, std::uint64_t{1} << 60), "accepted");
  EXPECT_TRUE(fs::is_empty(root_));
  fs::create_symlink(root_ / "nowhere" / "else", root_ / "link");
  EXPECT_NE(refusal(root_ / "link", false, std::uint64_t{1} << 60), "accepted");
  EXPECT_TRUE(fs::is_symlink(root_ / "link"));
}

}  // namespace
}  // namespace starling::record
