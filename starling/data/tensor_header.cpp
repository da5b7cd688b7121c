#include "starling/data/tensor_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "starling/core/error.h"

namespace starling::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kAlignment = 8;

struct Dtype {
  std::string_view name;
  std::size_t bytes;
};

constexpr Dtype kDtypes[] = {{"F64", 8}, {"F32", 4}, {"F16", 2},  {"BF16", 2},    {"I64", 8},
                             {"I32", 4}, {"I16", 2}, {"I8", 1},   {"U64", 8},     {"U32", 4},
                             {"U16", 2}, {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};

// JSON silently keeps the last of two equal keys.
Json parse_json(std::string_view text) {
  std::set<std::string> keys;
  std::string twice;
  const auto note_keys = [&](int depth, Json::parse_event_t event, Json& key) {
    if (event == Json::parse_event_t::key && depth == 1) {
      const auto& name = key.get_ref<const std::string&>();
      if (!keys.insert(name).second) twice = name;
    }
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, note_keys);
  } catch (const Json::parse_error& error) {
    throw InvalidArgument(concat("its header is not JSON: error at byte ", error.byte));
  }
  if (!json.is_object()) throw InvalidArgument("its header is not a JSON object");
  if (!twice.empty()) throw InvalidArgument(concat("tensor '", twice, "' is in it twice"));
  return json;
}

std::uint64_t whole_number(const Json& json, std::string_view what) {
  constexpr auto kMost = static_cast<std::uint64_t>(INT64_MAX);
  if (json.is_number_unsigned() && json.get<std::uint64_t>() <= kMost) return json.get<std::uint64_t>();
  throw InvalidArgument(concat(what, " has ", json.dump(-1, ' ', true, Json::error_handler_t::replace),
                               "; expected whole numbers from 0 on"));
}

const Json& member(const Json& json, const char* key, Json::value_t type, std::string_view expected) {
  const auto found = json.find(key);
  if (found == json.end() || found->type() != type) {
    throw InvalidArgument(concat("it has no ", key, ", expected ", expected));
  }
  return *found;
}

TensorEntry parse_entry(const std::string& name, const Json& json) {
  if (!json.is_object()) throw InvalidArgument("it is not a JSON object");
  TensorEntry entry;
  entry.name = name;
  entry.dtype = member(json, "dtype", Json::value_t::string, "a name such as F32").get<std::string>();
  for (const Json& side : member(json, "shape", Json::value_t::array, "a list")) {
    entry.shape.push_back(static_cast<std::int64_t>(whole_number(side, "its shape")));
  }
  const Json& offsets = member(json, "data_offsets", Json::value_t::array, "a list");
  if (offsets.size() != 2) {
    throw InvalidArgument(concat("its data_offsets are ", offsets.size(), " numbers; expected 2"));
  }
  entry.begin = whole_number(offsets[0], "its data_offsets");
  entry.end = whole_number(offsets[1], "its data_offsets");
  return entry;
}

void check_entry(const TensorEntry& entry, std::uint64_t data_bytes) {
  if (entry.begin > entry.end || entry.end > data_bytes) {
    throw InvalidArgument(concat("its bytes ", entry.begin, " to ", entry.end,
                                 " are out of range; the file has ", data_bytes, " behind its header"));
  }
  const std::uint64_t needed = bytes_of(entry.dtype, entry.shape);
  if (entry.end - entry.begin == needed) return;
  throw InvalidArgument(concat("it has ", entry.end - entry.begin, " bytes; shape [", join_texts(entry.shape),
                               "] of ", entry.dtype, " needs ", needed));
}

// The format demands that every byte belongs to exactly one tensor.
void check_cover(const std::vector<TensorEntry>& entries, std::uint64_t data_bytes) {
  std::vector<const TensorEntry*> sorted;
  sorted.reserve(entries.size());
  for (const TensorEntry& entry : entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const TensorEntry* a, const TensorEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t end = 0;
  for (const TensorEntry* const entry : sorted) {
    if (entry->begin < end) {
      throw InvalidArgument(concat("tensor '", entry->name, "' begins at byte ", entry->begin,
                                   " and overlaps the one before it, which ends at ", end));
    }
    if (entry->begin > end) {
      throw InvalidArgument(
          concat("bytes ", end, " to ", entry->begin, " before tensor '", entry->name, "' belong to none"));
    }
    end = entry->end;
  }
  if (end < data_bytes) {
    throw InvalidArgument(
        concat("it has ", data_bytes - end, " bytes behind the last tensor; expected none"));
  }
}

void parse_metadata(const Json& json, std::map<std::string, std::string>& metadata) {
  if (!json.is_object()) throw InvalidArgument(concat(kMetadata, " is not a JSON object"));
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) throw InvalidArgument(concat(kMetadata, " '", key, "' is not a text"));
    metadata[key] = value.get<std::string>();
  }
}

}  // namespace

std::size_t element_bytes(std::string_view dtype) {
  std::vector<std::string_view> names;
  for (const Dtype& known : kDtypes) {
    if (known.name == dtype) return known.bytes;
    names.push_back(known.name);
  }
  throw InvalidArgument(concat("unknown dtype '", dtype, "'; allowed: ", join_texts(names)));
}

std::uint64_t bytes_of(std::string_view dtype, const std::vector<std::int64_t>& shape) {
  constexpr auto kMost = static_cast<std::uint64_t>(INT64_MAX);
  std::uint64_t bytes = element_bytes(dtype);
  for (const std::int64_t side : shape) {
    const auto factor = static_cast<std::uint64_t>(side);
    if (side < 0 || (factor > 0 && bytes > kMost / factor)) {
      throw InvalidArgument(concat("bad shape [", join_texts(shape),
                                   "]; expected whole numbers from 0 on and less ", "than 2^63 bytes"));
    }
    bytes *= factor;
  }
  return bytes;
}

std::string format_header(const TensorHeader& header) {
  Json json = Json::object();
  if (!header.metadata.empty()) json[std::string(kMetadata)] = header.metadata;
  for (const TensorEntry& entry : header.entries) {
    if (entry.name == kMetadata) throw InvalidArgument(concat("no tensor can be named ", kMetadata));
    if (json.contains(entry.name)) throw InvalidArgument(concat("there are two tensors '", entry.name, "'"));
    json[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const Json::type_error&) {
    throw InvalidArgument("a tensor's name or the metadata are not UTF-8");
  }
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

TensorHeader parse_header(std::string_view text, std::uint64_t data_bytes) {
  const Json json = parse_json(text);
  TensorHeader header;
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadata) {
      parse_metadata(value, header.metadata);
      continue;
    }
    try {
      header.entries.push_back(parse_entry(name, value));
      check_entry(header.entries.back(), data_bytes);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(concat("tensor '", name, "': ", error.what()));
    }
  }
  check_cover(header.entries, data_bytes);
  return header;
}

}  // namespace starling::data
