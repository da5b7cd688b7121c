// Checkpoints on disk, and what may be found there after a kill.
#include "starling/data/checkpoint_files.h"

#include <gtest/gtest.h>

#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace starling::data {
namespace {

namespace fs = std::filesystem;
using testing::refusal;

const RunKeys kKeys{{"model", "mlp"}, {"workers", "2"}};

class Checkpoints : public ::testing::Test {
 protected:
  WorkerState state(float value) const {
    return {
        {value, value + 1}, {}, {std::byte{1}, std::byte{2}}, {std::byte{static_cast<unsigned char>(value)}}};
  }
  std::string text_of_latest(const RunKeys& keys) const {
    return refusal([&] { files_.latest(keys); });
  }

  const testing::TemporaryFolder folder_;
  const fs::path path_ = fs::path(folder_.path()) / "checkpoints";
  const CheckpointFiles files_{path_};
};

TEST_F(Checkpoints, AreReadAsTheyWereWritten) {
  for (const Rank rank : {0, 1}) files_.write(10, rank, state(static_cast<float>(rank)));
  files_.commit(10, 2, kKeys);
  EXPECT_EQ(files_.latest(kKeys), 10U);
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
  files_.commit(10, 1, kKeys);
  files_.write(20, 0, state(2));
  EXPECT_EQ(files_.latest(kKeys), 10U);
  EXPECT_EQ(files_.read(10, 0).parameters, state(1).parameters);
}

TEST_F(Checkpoints, OlderAndUnfinishedOnesGoWithTheNext) {
  files_.write(10, 0, state(1));
  files_.commit(10, 1, kKeys);
  files_.write(15, 0, state(1));  // never committed
  files_.write(20, 0, state(2));
  files_.commit(20, 1, kKeys);
  EXPECT_FALSE(fs::exists(path_ / "step-10"));
  EXPECT_FALSE(fs::exists(path_ / "step-15"));
  EXPECT_EQ(files_.latest(kKeys), 20U);
  EXPECT_EQ(files_.read(20, 0).parameters, state(2).parameters);
}

TEST_F(Checkpoints, WithoutAllWorkersTheOneBeforeStays) {
  for (const Rank rank : {0, 1}) files_.write(10, rank, state(1));
  files_.commit(10, 2, kKeys);
  files_.write(20, 0, state(2));  // worker 1 is dead
  files_.commit(20, 2, kKeys);
  EXPECT_EQ(files_.latest(kKeys), 10U);
  EXPECT_FALSE(fs::exists(path_ / "step-20"));
}

TEST_F(Checkpoints, OfAnotherRunAreRefused) {
  files_.write(10, 0, state(1));
  files_.commit(10, 1, kKeys);
  EXPECT_EQ(text_of_latest({{"model", "cnn"}, {"workers", "2"}}),
            "--resume: the checkpoint has model mlp, this run has cnn");
  EXPECT_NE(text_of_latest({{"colour", "red"}}).find("is damaged"), std::string::npos);
}

TEST_F(Checkpoints, DamageIsNamed) {
  files_.write(10, 0, state(1));
  files_.commit(10, 1, kKeys);
  for (const char* text :
       {"", "{", "[]", "{\"step\": -1, \"run\": 3}", "{\"run\": {\"model\": 1, \"workers\": 2}}"}) {
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
