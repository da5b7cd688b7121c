#include "starling/session/background/control_messages.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"

namespace starling::session {
namespace {

// Every shorter message, every longer one and another version is refused.
template <class Read>
void expect_refusals(const Bytes& whole, const Read& read) {
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(read(std::span(whole).first(length), 3), Error) << length;
  }
  Bytes newer = whole;
  newer[0] = std::byte{kWireVersion + 1};
  EXPECT_THROW(read(newer, 3), Error);
}

template <class Read>
void expect_refusal_of_longer(const Bytes& whole, const Read& read) {
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_THROW(read(longer, 3), Error);
}

TEST(ControlMessages, StopMessagesComeBack) {
  const Bytes bytes = to_bytes(StopMessage{StopMessage::Verb::kAnswer, true, false, 12, 34});
  const StopMessage back = stop_message_from(bytes, 3);
  EXPECT_EQ(back.verb, StopMessage::Verb::kAnswer);
  EXPECT_TRUE(back.done);
  EXPECT_FALSE(back.told);
  EXPECT_EQ(back.steps, 12U);
  EXPECT_EQ(back.last, 34U);
  expect_refusals(bytes, stop_message_from);
  expect_refusal_of_longer(bytes, stop_message_from);
}

TEST(ControlMessages, AnUnknownVerbIsRefusedNamingTheSender) {
  Bytes bytes = to_bytes(StopMessage{});
  bytes[1] = std::byte{4};
  try {
    stop_message_from(bytes, 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a message about the end from rank 3: no verb has number 4");
  }
}

TEST(ControlMessages, CheckpointMessagesComeBack) {
  const Bytes bytes = to_bytes(CheckpointMessage{CheckpointMessage::Word::kSkipped, 500, true, {3, 7}});
  const CheckpointMessage back = checkpoint_message_from(bytes, 3);
  EXPECT_EQ(back.word, CheckpointMessage::Word::kSkipped);
  EXPECT_EQ(back.steps, 500U);
  EXPECT_TRUE(back.for_all);
  EXPECT_EQ(back.position, (SharePosition{3, 7}));
  expect_refusals(bytes, checkpoint_message_from);
  expect_refusal_of_longer(bytes, checkpoint_message_from);
}

TEST(ControlMessages, HashesOfModelsComeBack) {
  const Bytes bytes = to_bytes(ModelHashes{7, {1, ~std::uint64_t{0}}});
  const ModelHashes back = model_hashes_from(bytes, 3);
  EXPECT_EQ(back.step, 7U);
  EXPECT_EQ(back.hashes, (std::vector<std::uint64_t>{1, ~std::uint64_t{0}}));
  expect_refusals(bytes, model_hashes_from);
  expect_refusal_of_longer(bytes, model_hashes_from);
}

TEST(ControlMessages, ComparisonsOfModelsComeBack) {
  const Bytes bytes = to_bytes(ModelComparison{7, "section 2 differs"});
  const ModelComparison back = model_comparison_from(bytes, 3);
  EXPECT_EQ(back.step, 7U);
  EXPECT_EQ(back.difference, "section 2 differs");
  expect_refusals(bytes, model_comparison_from);
  expect_refusal_of_longer(bytes, model_comparison_from);
}

TEST(ControlMessages, ProgressComesBackWithItsSender) {
  const Progress progress{.rank = 3,
                          .steps = 10,
                          .samples = 20,
                          .loss = 0.5,
                          .computing = Duration(30),
                          .waiting = Duration(40),
                          .done = true};
  const Bytes bytes = to_bytes(progress);
  const Progress back = progress_from(bytes, 3);
  EXPECT_EQ(back.rank, 3);
  EXPECT_EQ(back.steps, 10U);
  EXPECT_EQ(back.samples, 20U);
  EXPECT_EQ(back.loss, 0.5);
  EXPECT_EQ(back.computing, Duration(30));
  EXPECT_EQ(back.waiting, Duration(40));
  EXPECT_TRUE(back.done);
  expect_refusals(bytes, progress_from);
  expect_refusal_of_longer(bytes, progress_from);
}

TEST(ControlMessages, ModelCopiesComeBackInFrontOfTheModel) {
  const ModelCopy copy{
      .first = 1, .last = 2, .time = Duration(3), .steps = 4, .losses = {0.25, 5}, .final = true};
  Bytes bytes = to_bytes(copy);
  ASSERT_EQ(bytes.size(), kModelCopyBytes);
  EXPECT_EQ(kModelCopyBytes % alignof(float), 0U);
  expect_refusals(bytes, model_copy_from);
  bytes.resize(bytes.size() + 2 * sizeof(float));
  const ModelCopy back = model_copy_from(bytes, 3);
  EXPECT_EQ(back.first, 1U);
  EXPECT_EQ(back.last, 2U);
  EXPECT_EQ(back.time, Duration(3));
  EXPECT_EQ(back.steps, 4U);
  EXPECT_EQ(back.losses.loss, 0.25);
  EXPECT_EQ(back.losses.samples, 5U);
  EXPECT_TRUE(back.final);
}

}  // namespace
}  // namespace starling::session
