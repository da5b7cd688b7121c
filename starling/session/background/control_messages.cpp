#include "starling/session/background/control_messages.h"

#include <algorithm>

namespace starling::session {

namespace {

// Behind the version and a flag, up to the first number.
constexpr std::size_t kPadding = 6;

void put(ByteWriter& out, const Progress& progress) {
  out.put(progress.done)
      .put(progress.steps)
      .put(progress.samples)
      .put(progress.loss)
      .put(progress.computing)
      .put(progress.waiting);
}

Progress get_progress(ByteReader& in, Rank rank) {
  Progress progress;
  progress.rank = rank;
  progress.done = in.get<bool>();
  progress.steps = in.get<std::uint64_t>();
  progress.samples = in.get<std::uint64_t>();
  progress.loss = in.get<double>();
  progress.computing = in.get<Duration>();
  progress.waiting = in.get<Duration>();
  return progress;
}

template <class Number>
std::vector<Number> get_numbers(ByteReader& in) {
  const std::span<const std::byte> block = in.get_block();
  if (block.size() % sizeof(Number) != 0)
    in.refuse(concat(block.size(), " bytes for numbers of ", sizeof(Number)));
  std::vector<Number> numbers(block.size() / sizeof(Number));
  std::ranges::copy(block, std::as_writable_bytes(std::span(numbers)).begin());
  return numbers;
}

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
  return ByteWriter::message()
      .put(message.word)
      .put(message.steps)
      .put(message.for_all)
      .put(message.position.epoch)
      .put(message.position.batches)
      .take();
}

CheckpointMessage checkpoint_message_from(std::span<const std::byte> bytes, Rank from) {
  ByteReader in = ByteReader::message(bytes, concat("a message about a checkpoint from rank ", from));
  CheckpointMessage message;
  message.word = in.get_enum(CheckpointMessage::Word::kSaved, "word");
  message.steps = in.get<std::uint64_t>();
  message.for_all = in.get<bool>();
  message.position.epoch = in.get<std::uint64_t>();
  message.position.batches = in.get<std::uint64_t>();
  in.expect_end();
  return message;
}

Bytes to_bytes(const ModelHashes& hashes) {
  return ByteWriter::message().put(hashes.step).put_block(std::as_bytes(std::span(hashes.hashes))).take();
}

ModelHashes model_hashes_from(std::span<const std::byte> bytes, Rank from) {
  ByteReader in = ByteReader::message(bytes, concat("hashes of a model from rank ", from));
  ModelHashes hashes;
  hashes.step = in.get<std::uint64_t>();
  hashes.hashes = get_numbers<std::uint64_t>(in);
  in.expect_end();
  return hashes;
}

Bytes to_bytes(const ModelComparison& comparison) {
  return ByteWriter::message().put(comparison.step).put_text(comparison.difference).take();
}

ModelComparison model_comparison_from(std::span<const std::byte> bytes, Rank from) {
  ByteReader in = ByteReader::message(bytes, concat("a comparison of models from rank ", from));
  ModelComparison comparison;
  comparison.step = in.get<std::uint64_t>();
  comparison.difference = in.get_text();
  in.expect_end();
  return comparison;
}

Bytes to_bytes(const Progress& progress) {
  ByteWriter out = ByteWriter::message();
  put(out, progress);
  return out.take();
}

Progress progress_from(std::span<const std::byte> bytes, Rank from) {
  ByteReader in = ByteReader::message(bytes, concat("the progress of rank ", from));
  const Progress progress = get_progress(in, from);
  in.expect_end();
  return progress;
}

Bytes to_bytes(const std::vector<Progress>& workers) {
  ByteWriter out = ByteWriter::message();
  for (const Progress& progress : workers) put(out, progress);
  return out.take();
}

std::vector<Progress> progress_table_from(std::span<const std::byte> bytes, Rank from, int workers) {
  ByteReader in = ByteReader::message(bytes, concat("the progress of all workers from rank ", from));
  std::vector<Progress> table;
  table.reserve(static_cast<std::size_t>(workers));
  for (Rank rank = 0; rank < workers; ++rank) table.push_back(get_progress(in, rank));
  in.expect_end();
  return table;
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

Bytes to_bytes(const Snapshot& snapshot, const std::vector<std::uint64_t>& steps) {
  return ByteWriter::message()
      .put(snapshot.final)
      .put(snapshot.time)
      .put(snapshot.steps)
      .put(snapshot.loss)
      .put_block(std::as_bytes(std::span(steps)))
      .put_block(std::as_bytes(std::span(snapshot.model)))
      .take();
}

SnapshotCopy snapshot_copy_from(std::span<const std::byte> bytes, Rank from) {
  ByteReader in = ByteReader::message(bytes, concat("a snapshot from rank ", from));
  SnapshotCopy copy;
  copy.snapshot.final = in.get<bool>();
  copy.snapshot.time = in.get<Duration>();
  copy.snapshot.steps = in.get<std::uint64_t>();
  copy.snapshot.loss = in.get<double>();
  copy.steps = get_numbers<std::uint64_t>(in);
  copy.snapshot.model = get_numbers<float>(in);
  in.expect_end();
  return copy;
}

}  // namespace starling::session
