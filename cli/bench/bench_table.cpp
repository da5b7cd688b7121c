#include "cli/bench/bench_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

namespace starling::cli {
namespace {

constexpr int kBarCells = 8;

}  // namespace

nlohmann::ordered_json number_or_null(std::optional<double> value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

double bytes_that_must_move(const Job& job, int ranks) {
  if (ranks < 2) return 0;
  const auto bytes = static_cast<double>(job.bytes);
  switch (job.op) {
    case Op::kAllReduce:
      return 2.0 * ranks * bytes;  // each vector is read once and written once
    case Op::kBroadcast:
    case Op::kAllGather:
      break;
  }
  return ranks * bytes;  // one vector, or one slice of each, is read; all others are written
}

std::optional<double> TableRow::ratio(const std::string& peer) const {
  const auto found = peer_us.find(peer);
  if (found == peer_us.end() || !found->second || !starling_us) return std::nullopt;
  return *found->second / *starling_us;
}

std::optional<double> TableRow::copy_bytes_per_second() const {
  if (!copy_us) return std::nullopt;
  return 2.0 * ranks * static_cast<double>(job.bytes) / *copy_us * 1e6;
}

std::optional<double> TableRow::memory_share() const {
  const double bytes = bytes_that_must_move(job, ranks);
  const std::optional<double> bandwidth = copy_bytes_per_second();
  if (bytes == 0 || !bandwidth || !starling_us) return std::nullopt;
  return bytes / *bandwidth * 1e6 / *starling_us;
}

std::string format_time(std::optional<double> microseconds) {
  if (!microseconds) return "-";
  return format_duration(
      std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::micro>(*microseconds)));
}

std::string format_ratio(std::optional<double> ratio) {
  if (!ratio) return "-";
  return fmt::format("{:.{}f}", *ratio, *ratio < 10 ? 2 : *ratio < 100 ? 1 : 0);
}

std::string bar(std::optional<double> ratio, bool unicode) {
  if (!ratio || *ratio <= 0) return "";
  const bool cut = *ratio > kBarCells;
  const double length = cut ? kBarCells - 1 : *ratio;
  std::string text;
  if (!unicode) {
    text.assign(static_cast<std::size_t>(std::lround(length)), '#');
  } else {
    constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto eighths = std::lround(length * 8);
    for (long cell = 0; cell < eighths / 8; ++cell) text += "█";
    text += kEighths[eighths % 8];
  }
  return cut ? text + ">" : text;
}

std::string Table::header() const {
  std::string text = fmt::format("{:<10}{:>5}{:>7}{:>10}", "op", "ranks", "size", "starling");
  for (const Peer* peer : against_) text += fmt::format("{:>10}", peer->name);
  for (const Peer* peer : against_) text += fmt::format("  {:<15}", fmt::format("vs {}", peer->name));
  return text + fmt::format("{:>8}", "memory");
}

std::string Table::line(const TableRow& row) const {
  std::string text = fmt::format("{:<10}{:>5}{:>7}{:>10}", name_of(row.job.op), row.ranks,
                                 format_size(row.job.bytes), format_time(row.starling_us));
  for (const Peer* peer : against_) {
    text += fmt::format("{:>10}", format_time(row.peer_us.at(std::string(peer->name))));
  }
  for (const Peer* peer : against_) {
    const std::optional<double> ratio = row.ratio(std::string(peer->name));
    text += fmt::format("  {:>5} {:<9}", format_ratio(ratio), bar(ratio, unicode_));
  }
  const std::optional<double> share = row.memory_share();
  return text + fmt::format("{:>8}", share ? fmt::format("{:.1f}%", *share * 100) : "-");
}

bool shows_unicode(int descriptor) {
  if (isatty(descriptor) == 0) return false;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

nlohmann::ordered_json to_json(const TableRow& row) {
  nlohmann::ordered_json json;
  json["op"] = name_of(row.job.op);
  json["ranks"] = row.ranks;
  json["bytes"] = row.job.bytes;
  json["starling_us"] = number_or_null(row.starling_us);
  for (const Peer& peer : peers()) {
    const auto found = row.peer_us.find(std::string(peer.name));
    json[concat(peer.name, "_us")] = found == row.peer_us.end() ? nullptr : number_or_null(found->second);
  }
  for (const Peer& peer : peers())
    json[concat("vs_", peer.name)] = number_or_null(row.ratio(std::string(peer.name)));
  json["memory_share"] = number_or_null(row.memory_share());
  json["copy_bytes_per_second"] = number_or_null(row.copy_bytes_per_second());
  return json;
}

}  // namespace starling::cli
