#include "starling/data/checkpoint_files.h"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "starling/core/error.h"
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

const StoredTensor& get(const TensorFile& file, std::string_view name, const fs::path& path) {
  for (const StoredTensor& tensor : file.tensors) {
    if (tensor.name == name) return tensor;
  }
  throw InvalidArgument(concat(path.string(), ": has no tensor '", name, "'"));
}

}  // namespace

fs::path CheckpointFiles::step_folder(std::uint64_t step) const { return folder_ / concat("step-", step); }

fs::path CheckpointFiles::rank_file(std::uint64_t step, Rank rank) const {
  return step_folder(step) / concat("rank-", rank, ".safetensors");
}

void CheckpointFiles::write(std::uint64_t step, Rank rank, const WorkerState& state) const {
  fs::create_directories(step_folder(step));
  TensorFile file;
  file.tensors = {floats("parameters", state.parameters), floats("extras", state.extras),
                  raw("kept", state.kept), raw("server", state.server), raw("program", state.program)};
  write_safetensors(rank_file(step, rank), file);
}

void CheckpointFiles::commit(std::uint64_t step, int workers, const RunKeys& keys) const {
  for (Rank rank = 0; rank < workers; ++rank) {
    if (fs::exists(rank_file(step, rank))) continue;
    fs::remove_all(step_folder(step));
    return;
  }
  Json json;
  json["step"] = step;
  json["run"] = keys;
  record::AtomicFile file(folder_ / kLatest);
  file.stream() << json.dump(2) << "\n";
  file.publish();
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.is_directory() && entry.path() != step_folder(step)) fs::remove_all(entry.path());
  }
}

std::uint64_t CheckpointFiles::latest(const RunKeys& keys) const {
  const fs::path path = folder_ / kLatest;
  std::ifstream file(path);
  if (!file)
    throw InvalidArgument(
        concat("--resume: ", path.string(), " cannot be read; no checkpoint was completed"));
  Json json;
  try {
    json = Json::parse(file);
    for (const auto& [key, value] : keys) {
      const std::string saved = json.at("run").at(key).get<std::string>();
      if (saved == value) continue;
      throw InvalidArgument(
          concat("--resume: the checkpoint has ", key, " ", saved, ", this run has ", value));
    }
    return json.at("step").get<std::uint64_t>();
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
  for (const StoredTensor& tensor : file.tensors) {
    if (tensor.name == "program") state.program = tensor.bytes;  // not in older files
  }
  return state;
}

}  // namespace starling::data
