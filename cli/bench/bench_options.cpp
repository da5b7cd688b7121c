#include "cli/bench/bench_options.h"

#include <algorithm>

#include "starling/core/error.h"

namespace starling::cli {
namespace {

constexpr int kMostRanks = 256;
constexpr int kMostCollectiveRounds = 1000;
constexpr std::size_t kMostBytes = std::size_t{4} << 30;  // MPI counts elements in int

// Applies `parse` to each part of a comma-separated list, which must have at least one.
template <class Parse>
auto parse_list(const std::string& text, std::string_view what, Parse parse) {
  std::vector<decltype(parse(text))> values;
  for (const std::string& part : split(text, ',')) values.push_back(parse(part));
  if (values.empty()) throw InvalidArgument(concat(what, ": '", text, "' names nothing"));
  return values;
}

std::size_t parse_bytes(const std::string& text) {
  const std::size_t bytes = parse_size(text, "--sizes");
  if (bytes == 0 || bytes % sizeof(float) != 0 || bytes > kMostBytes) {
    throw InvalidArgument(concat("--sizes: '", text, "' is not a multiple of ", sizeof(float),
                                 " bytes (the elements are float32) from ", sizeof(float), " to ",
                                 format_size(kMostBytes)));
  }
  return bytes;
}

const Peer* parse_peer(const std::string& text) {
  std::vector<std::string_view> names;
  for (const Peer& peer : peers()) {
    if (peer.name == text) return &peer;
    names.push_back(peer.name);
  }
  throw InvalidArgument(concat("--against: '", text, "' is not one of ", join_texts(names), ", none"));
}

}  // namespace

BenchOptions parse_options(const BenchText& text) {
  BenchOptions options;
  options.ranks = parse_list(text.ranks, "--ranks", [](const std::string& part) {
    return static_cast<int>(parse_integer(part, "--ranks", 1, kMostRanks));
  });
  options.sizes = parse_list(text.sizes, "--sizes", parse_bytes);
  options.ops =
      parse_list(text.ops, "--ops", [](const std::string& part) { return parse_op(part, "--ops"); });
  if (text.against != "none") options.against = parse_list(text.against, "--against", parse_peer);
  options.rounds = static_cast<int>(parse_integer(text.rounds, "--rounds", 1, kMostCollectiveRounds));
  options.json = text.json;
  return options;
}

void check_memory(const BenchOptions& options, std::size_t available_bytes) {
  const std::size_t bytes = *std::max_element(options.sizes.begin(), options.sizes.end());
  const auto ranks = static_cast<std::size_t>(*std::max_element(options.ranks.begin(), options.ranks.end()));
  // Vectors per rank: ours, two that are copied, and of each peer one with as much for its buffers.
  const std::size_t vectors = 3 + 2 * options.against.size();
  if (bytes <= available_bytes / ranks / vectors) return;
  throw InvalidArgument(concat("--sizes: '", format_size(bytes), "' over ", ranks, " ranks needs about ",
                               bytes * ranks * vectors >> 20, " MB of memory, of which ",
                               available_bytes >> 20, " MB are available"));
}

}  // namespace starling::cli
