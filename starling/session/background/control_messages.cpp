#include "starling/session/background/control_messages.h"

namespace starling::session {

namespace {

// Behind the version and a flag, up to the first number.
constexpr std::size_t kPadding = 6;

}  // namespace

Bytes to_bytes(const StopMessage& message) {
  return ByteWriter::message()
      .put(message.verb)
      .put(message.done)
      .put(message.told)
      .put(message.steps)
      .put(message.last)
      .take();
}

StopMessage stop_message_from(std::span<const std::byte> bytes, Rank from) {
  ByteReader in = ByteReader::message(bytes, concat("a message about the end from rank ", from));
  StopMessage message;
  message.verb = in.get_enum(StopMessage::Verb::kLast, "verb");
  message.done = in.get<bool>();
  message.told = in.get<bool>();
  message.steps = in.get<std::uint64_t>();
  message.last = in.get<std::uint64_t>();
  in.expect_end();
  return message;
}

Bytes to_bytes(const CheckpointMessage& message) {
  return ByteWriter::message().put(message.word).put(message.steps).take();
}

CheckpointMessage checkpoint_message_from(std::span<const std::byte> bytes, Rank from) {
  ByteReader in = ByteReader::message(bytes, concat("a message about a checkpoint from rank ", from));
  CheckpointMessage message;
  message.word = in.get_enum(CheckpointMessage::Word::kEnded, "word");
  message.steps = in.get<std::uint64_t>();
  in.expect_end();
  return message;
}

Bytes to_bytes(const Progress& progress) {
  return ByteWriter::message()
      .put(progress.done)
      .put(progress.steps)
      .put(progress.samples)
      .put(progress.loss)
      .put(progress.computing)
      .put(progress.waiting)
      .take();
}

Progress progress_from(std::span<const std::byte> bytes, Rank from) {
  ByteReader in = ByteReader::message(bytes, concat("the progress of rank ", from));
  Progress progress;
  progress.rank = from;
  progress.done = in.get<bool>();
  progress.steps = in.get<std::uint64_t>();
  progress.samples = in.get<std::uint64_t>();
  progress.loss = in.get<double>();
  progress.computing = in.get<Duration>();
  progress.waiting = in.get<Duration>();
  in.expect_end();
  return progress;
}

Bytes to_bytes(const ModelCopy& copy) {
  return ByteWriter::message()
      .put(copy.final)
      .pad(kPadding)
      .put(copy.first)
      .put(copy.last)
      .put(copy.time)
      .put(copy.steps)
      .put(copy.losses.loss)
      .put(copy.losses.samples)
      .take();
}

ModelCopy model_copy_from(std::span<const std::byte> bytes, Rank from) {
  ByteReader in = ByteReader::message(bytes, concat("the model of rank ", from));
  ModelCopy copy;
  copy.final = in.get<bool>();
  in.skip(kPadding);
  copy.first = in.get<std::uint64_t>();
  copy.last = in.get<std::uint64_t>();
  copy.time = in.get<Duration>();
  copy.steps = in.get<std::uint64_t>();
  copy.losses.loss = in.get<double>();
  copy.losses.samples = in.get<std::uint64_t>();
  return copy;
}

}  // namespace starling::session
