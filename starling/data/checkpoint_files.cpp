#include "starling/data/checkpoint_files.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "starling/core/error.h"
#include "starling/core/hash.h"
#include "starling/data/safetensors.h"
#include "starling/record/atomic_file.h"

namespace starling::data {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kLatest = "latest.json";

StoredTensor floats(std::string name, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {std::move(name), "F32", {static_cast<std::int64_t>(values.size())}, {bytes.begin(), bytes.end()}};
}

StoredTensor raw(std::string name, std::span<const std::byte> bytes) {
  return {std::move(name), "U8", {static_cast<std::int64_t>(bytes.size())}, {bytes.begin(), bytes.end()}};
}

std::vector<float> to_floats(const StoredTensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(float));
  return values;
}

std::string checksum(const StoredTensor& tensor) { return std::to_string(hash_of(tensor.bytes)); }

// The tensor of that name, as it was written.
const StoredTensor& get(const TensorFile& file, const std::string& name, const fs::path& path) {
  for (const StoredTensor& tensor : file.tensors) {
    if (tensor.name != name) continue;
    const auto written = file.metadata.find(name);
    if (written != file.metadata.end() && written->second == checksum(tensor)) return tensor;
    throw InvalidArgument(concat(path.string(), ": is damaged: tensor '", name, "' has another checksum"));
  }
  throw InvalidArgument(concat(path.string(), ": has no tensor '", name, "'"));
}

Json to_json(const CompleteCheckpoint& checkpoint) {
  Json json;
  json["step"] = checkpoint.step;
  json["ranks"] = checkpoint.ranks;
  if (checkpoint.position) {
    json["position"]["epoch"] = checkpoint.position->epoch;
    json["position"]["batches"] = checkpoint.position->batches;
  }
  return json;
}

CompleteCheckpoint checkpoint_from(const Json& json) {
  CompleteCheckpoint checkpoint;
  checkpoint.step = json.at("step").get<std::uint64_t>();
  static_cast<void>(json.at("ranks").at(0));  // there is one at least
  checkpoint.ranks = json.at("ranks").get<Group>();
  if (json.contains("position")) {
    const Json& position = json.at("position");
    checkpoint.position = {position.at("epoch").get<std::uint64_t>(),
                           position.at("batches").get<std::uint64_t>()};
  }
  return checkpoint;
}

// Of latest.json.
std::vector<CompleteCheckpoint> checkpoints_in(const Json& json) {
  std::vector<CompleteCheckpoint> checkpoints{checkpoint_from(json)};
  if (json.contains("before")) checkpoints.push_back(checkpoint_from(json.at("before")));
  return checkpoints;
}

}  // namespace

Rank part_for(Rank rank, const CompleteCheckpoint& checkpoint) {
  const Group& ranks = checkpoint.ranks;
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end() ? rank : ranks.front();
}

fs::path CheckpointFiles::step_folder(std::uint64_t step) const { return folder_ / concat("step-", step); }

fs::path CheckpointFiles::rank_file(std::uint64_t step, Rank rank) const {
  return step_folder(step) / concat("rank-", rank, ".safetensors");
}

void CheckpointFiles::write(std::uint64_t step, Rank rank, const WorkerState& state) const {
  fs::create_directories(step_folder(step));
  TensorFile file;
  file.tensors = {floats("parameters", state.parameters), floats("extras", state.extras),
                  raw("kept", state.kept), raw("server", state.server), raw("program", state.program)};
  for (const StoredTensor& tensor : file.tensors) file.metadata[tensor.name] = checksum(tensor);
  write_safetensors(rank_file(step, rank), file, record::AtomicFile::Durable::kYes);
}

void CheckpointFiles::commit(const CompleteCheckpoint& checkpoint, const RunKeys& keys) const {
  if (!has_parts(checkpoint)) {
    fs::remove_all(step_folder(checkpoint.step));
    return;
  }
  Json json = to_json(checkpoint);
  std::vector<CompleteCheckpoint> kept{checkpoint};
  if (const std::optional<CompleteCheckpoint> before = newest_before(checkpoint.step, keys)) {
    json["before"] = to_json(*before);
    kept.push_back(*before);
  }
  json["run"] = keys;
  record::AtomicFile file(folder_ / kLatest);
  file.stream() << json.dump(2) << "\n";
  file.publish(record::AtomicFile::Durable::kYes);
  remove_all_but(kept);
}

bool CheckpointFiles::has_parts(const CompleteCheckpoint& checkpoint) const {
  const auto has_part = [&](Rank rank) { return fs::exists(rank_file(checkpoint.step, rank)); };
  return !checkpoint.ranks.empty() && std::all_of(checkpoint.ranks.begin(), checkpoint.ranks.end(), has_part);
}

void CheckpointFiles::remove_all_but(const std::vector<CompleteCheckpoint>& checkpoints) const {
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const auto is_here = [&](const CompleteCheckpoint& one) { return entry.path() == step_folder(one.step); };
    const bool stays = std::any_of(checkpoints.begin(), checkpoints.end(), is_here);
    if (entry.is_directory() && !stays) fs::remove_all(entry.path());
  }
}

// Nothing if there is none that a run with these keys could go on from. A run that had to go back passes by
// the steps of damaged ones again: an earlier one counts.
std::optional<CompleteCheckpoint> CheckpointFiles::newest_before(std::uint64_t step,
                                                                 const RunKeys& keys) const {
  if (!fs::exists(folder_ / kLatest)) return std::nullopt;
  try {
    for (const CompleteCheckpoint& other : complete(keys)) {
      if (other.step < step) return other;
    }
  } catch (const InvalidArgument&) {  // NOLINT(bugprone-empty-catch): of another run, or damaged
  }
  return std::nullopt;
}

std::vector<CompleteCheckpoint> CheckpointFiles::complete(const RunKeys& keys) const {
  const fs::path path = folder_ / kLatest;
  std::ifstream file(path);
  if (!file)
    throw InvalidArgument(
        concat("--resume: ", path.string(), " cannot be read; no checkpoint was completed"));
  try {
    const Json json = Json::parse(file);
    for (const auto& [key, value] : keys) {
      const std::string saved = json.at("run").at(key).get<std::string>();
      if (saved == value) continue;
      throw InvalidArgument(
          concat("--resume: the checkpoint has ", key, " ", saved, ", this run has ", value));
    }
    return checkpoints_in(json);
  } catch (const Json::exception& error) {
    throw InvalidArgument(concat("--resume: ", path.string(), " is damaged: ", error.what()));
  }
}

WorkerState CheckpointFiles::read(std::uint64_t step, Rank rank) const {
  const fs::path path = rank_file(step, rank);
  const TensorFile file = read_safetensors(path);
  WorkerState state;
  state.parameters = to_floats(get(file, "parameters", path));
  state.extras = to_floats(get(file, "extras", path));
  state.kept = get(file, "kept", path).bytes;
  state.server = get(file, "server", path).bytes;
  state.program = get(file, "program", path).bytes;
  return state;
}

}  // namespace starling::data
