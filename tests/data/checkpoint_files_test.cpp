// Checkpoints on disk, and what may be found there after a kill.
#include "starling/data/checkpoint_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace starling::data {
namespace {

namespace fs = std::filesystem;
using testing::refusal;

using Steps = std::vector<std::uint64_t>;

const RunKeys kKeys{{"model", "mlp"}, {"workers", "2"}};

class Checkpoints : public ::testing::Test {
 protected:
  WorkerState state(float value) const {
    return {
        {value, value + 1}, {}, {std::byte{1}, std::byte{2}}, {std::byte{static_cast<unsigned char>(value)}}};
  }
  std::string text_of_latest(const RunKeys& keys) const {
    return refusal([&] { files_.complete(keys); });
  }

  Steps steps() const {
    Steps steps;
    for (const CompleteCheckpoint& checkpoint : files_.complete(kKeys)) steps.push_back(checkpoint.step);
    return steps;
  }

  const testing::TemporaryFolder folder_;
  const fs::path path_ = fs::path(folder_.path()) / "checkpoints";
  const CheckpointFiles files_{path_};
};

TEST_F(Checkpoints, AreReadAsTheyWereWritten) {
  for (const Rank rank : {0, 1}) files_.write(10, rank, state(static_cast<float>(rank)));
  files_.commit({10, {0, 1}}, kKeys);
  EXPECT_EQ(steps(), Steps{10});
  const WorkerState read = files_.read(10, 1), wrote = state(1);
  EXPECT_EQ(read.parameters, wrote.parameters);
  EXPECT_EQ(read.extras, wrote.extras);
  EXPECT_EQ(read.kept, wrote.kept);
  EXPECT_EQ(read.server, wrote.server);
}

TEST_F(Checkpoints, CountOnlyWhenTheyAreCommitted) {
  EXPECT_NE(text_of_latest(kKeys).find("latest.json cannot be read; no checkpoint was completed"),
            std::string::npos);
  files_.write(10, 0, state(1));
  EXPECT_NE(text_of_latest(kKeys).find("no checkpoint was completed"), std::string::npos);
  files_.commit({10, {0}}, kKeys);
  files_.write(20, 0, state(2));
  EXPECT_EQ(steps(), Steps{10});
  EXPECT_EQ(files_.read(10, 0).parameters, state(1).parameters);
}

TEST_F(Checkpoints, TheOneBeforeStaysOlderAndUnfinishedOnesGo) {
  files_.write(10, 0, state(1));
  files_.commit({10, {0}}, kKeys);
  files_.write(15, 0, state(1));  // never committed
  files_.write(20, 0, state(2));
  files_.commit({20, {0}}, kKeys);
  EXPECT_FALSE(fs::exists(path_ / "step-15"));
  EXPECT_EQ(steps(), (Steps{20, 10}));
  EXPECT_EQ(files_.read(20, 0).parameters, state(2).parameters);
  EXPECT_EQ(files_.read(10, 0).parameters, state(1).parameters);
  files_.write(30, 0, state(3));
  files_.commit({30, {0}}, kKeys);
  EXPECT_FALSE(fs::exists(path_ / "step-10"));
  EXPECT_EQ(steps(), (Steps{30, 20}));
}

// A run that goes back to a checkpoint comes to the same step again.
TEST_F(Checkpoints, TheSameStepAgainReplacesItself) {
  for (int time = 0; time < 2; ++time) {
    files_.write(10, 0, state(static_cast<float>(time)));
    files_.commit({10, {0}}, kKeys);
  }
  EXPECT_EQ(steps(), Steps{10});
  EXPECT_EQ(files_.read(10, 0).parameters, state(1).parameters);
}

// The run has gone back to step 10, because 20 was damaged, and saves at other steps now, or at 20 again.
TEST_F(Checkpoints, TheOneBeforeIsAnEarlierOne) {
  for (const std::uint64_t again : {15U, 20U}) {
    for (const std::uint64_t step : {10U, 20U}) {
      files_.write(step, 0, state(1));
      files_.commit({step, {0}}, kKeys);
    }
    files_.write(again, 0, state(2));
    files_.commit({again, {0}}, kKeys);
    EXPECT_EQ(steps(), (Steps{again, 10}));
    EXPECT_TRUE(fs::exists(path_ / "step-10"));
    fs::remove_all(path_);
  }
}

TEST_F(Checkpoints, OfAnotherRunAreNotTheOneBefore) {
  files_.write(10, 0, state(1));
  files_.commit({10, {0}}, {{"model", "cnn"}, {"workers", "2"}});
  files_.write(20, 0, state(2));
  files_.commit({20, {0}}, kKeys);
  EXPECT_EQ(steps(), Steps{20});
  EXPECT_FALSE(fs::exists(path_ / "step-10"));
}

// One bit of any tensor, in a file of the right size.
TEST_F(Checkpoints, DamageInsideAFileIsNoticed) {
  files_.write(10, 0, state(1));
  const fs::path file = path_ / "step-10" / "rank-0.safetensors";
  const auto size = static_cast<std::streamoff>(fs::file_size(file));
  for (std::streamoff back = 1; back <= 3; ++back) {  // the last tensors: "kept" and "server"
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(size - back);
    const int value = stream.get();
    stream.seekp(size - back);
    stream.put(static_cast<char>(value ^ 4));
    stream.flush();
    const std::string error = refusal([&] { files_.read(10, 0); });
    EXPECT_NE(error.find("rank-0.safetensors: is damaged: tensor '"), std::string::npos) << error;
    stream.seekp(size - back);
    stream.put(static_cast<char>(value));
  }
  EXPECT_EQ(files_.read(10, 0).parameters, state(1).parameters);
}

// Worker 1 is dead. Its part of step 20 is one that an earlier run has left.
TEST_F(Checkpoints, OfTheLivingSayWhoHasAPart) {
  for (const Rank rank : {0, 1}) files_.write(10, rank, state(1));
  files_.commit({10, {0, 1}}, kKeys);
  for (const Rank rank : {0, 1}) files_.write(20, rank, state(2));
  const CompleteCheckpoint newest{20, {0}, DataPosition{3, 7}};
  files_.commit(newest, kKeys);
  EXPECT_EQ(files_.complete(kKeys), (std::vector<CompleteCheckpoint>{newest, {10, {0, 1}}}));
}

TEST_F(Checkpoints, WhoHasNoPartTakesThatOfTheLowest) {
  const CompleteCheckpoint checkpoint{10, {1, 3}};
  EXPECT_EQ(part_for(0, checkpoint), 1);
  EXPECT_EQ(part_for(1, checkpoint), 1);
  EXPECT_EQ(part_for(2, checkpoint), 1);
  EXPECT_EQ(part_for(3, checkpoint), 3);
}

TEST_F(Checkpoints, WithoutAPartThatWasWrittenTheOneBeforeStays) {
  for (const Rank rank : {0, 1}) files_.write(10, rank, state(1));
  files_.commit({10, {0, 1}}, kKeys);
  files_.write(20, 0, state(2));  // that of worker 1 is on another disk
  files_.commit({20, {0, 1}}, kKeys);
  EXPECT_EQ(steps(), Steps{10});
  EXPECT_FALSE(fs::exists(path_ / "step-20"));
}

TEST_F(Checkpoints, OfAnotherRunAreRefused) {
  files_.write(10, 0, state(1));
  files_.commit({10, {0}}, kKeys);
  EXPECT_EQ(text_of_latest({{"model", "cnn"}, {"workers", "2"}}),
            "--resume: the checkpoint has model mlp, this run has cnn");
  EXPECT_NE(text_of_latest({{"colour", "red"}}).find("is damaged"), std::string::npos);
}

TEST_F(Checkpoints, DamageIsNamed) {
  files_.write(10, 0, state(1));
  files_.commit({10, {0}}, kKeys);
  for (const char* text : {"", "{", "[]", "{\"step\": -1, \"run\": 3}",
                           "{\"step\": 1, \"ranks\": [], \"run\": {\"model\": \"mlp\", \"workers\": \"2\"}}",
                           "{\"run\": {\"model\": 1, \"workers\": 2}}"}) {
    folder_.write("checkpoints/latest.json", text);
    EXPECT_NE(text_of_latest(kKeys).find("latest.json is damaged"), std::string::npos) << text;
  }
  const std::string file = (path_ / "step-10" / "rank-0.safetensors").string();
  const auto read_error = [&](Rank rank) { return refusal([&] { files_.read(10, rank); }); };
  EXPECT_NE(read_error(1).find("rank-1.safetensors"), std::string::npos) << read_error(1);
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_NE(read_error(0).find("rank-0.safetensors"), std::string::npos) << read_error(0);
}

}  // namespace
}  // namespace starling::data
