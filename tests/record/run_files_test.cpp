// Which files a run leaves, and that one which cannot be written does not cost the others.
#include "starling/record/run_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/record/made_records.h"
#include "tests/support/temporary_folder.h"

namespace starling::record {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunFilesTest : public ::testing::Test {
 protected:
  std::vector<std::string> write(RecordMode mode) {
    RunRecord run = make_run(10, {{compute(0, 10)}});
    run.record = mode;
    return write_run_files(RunFolder::existing(folder_.path()), run, analyse_waits(run), "{}\n");
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) names.insert(entry.path().filename());
    }
    return names;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(RunFilesTest, AFullRecordHasATimeLine) {
  EXPECT_THAT(write(RecordMode::kFull), IsEmpty());
  EXPECT_THAT(files(), ElementsAre("events.jsonl", "summary.json", "trace.json"));
}

TEST_F(RunFilesTest, ASummaryHasNone) {
  EXPECT_THAT(write(RecordMode::kSummary), IsEmpty());
  EXPECT_THAT(files(), ElementsAre("summary.json"));
}

TEST_F(RunFilesTest, OffLeavesNothing) {
  EXPECT_THAT(write(RecordMode::kOff), IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(RunFilesTest, AFileThatCannotBeWrittenIsNamedAndTheOthersAreWritten) {
  fs::create_directories(fs::path(folder_.path()) / "events.jsonl" / "in the way");
  EXPECT_THAT(write(RecordMode::kFull), ElementsAre(HasSubstr("events.jsonl")));
  EXPECT_THAT(files(), ElementsAre("summary.json", "trace.json"));
}

}  // namespace
}  // namespace starling::record
