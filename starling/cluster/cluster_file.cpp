#include "starling/cluster/cluster_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "starling/cluster/toml_table.h"
#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::cluster {
namespace {

constexpr std::string_view kTopKeys[] = {"network", "inside", "jitter", "jitter_span", "workers",
                                         "hosts",   "host",   "worker", "fault"};
constexpr std::string_view kHostKeys[] = {"name",   "workers",     "count",   "speed",
                                          "jitter", "jitter_span", "network", "inside"};
constexpr std::string_view kWorkerKeys[] = {"rank", "speed", "jitter", "jitter_span", "joins"};

struct Defaults {
  Link network = parse_link("10gbe", "");
  Link inside = parse_link("shm", "");
  Jitter jitter;
  JitterSpan jitter_span;
};

void read_link(const TomlTable& table, std::string_view key, Link& link) {
  if (const auto text = table.text(key)) link = parse_link(*text, table.at(key));
}

void read_jitter(const TomlTable& table, Jitter& jitter, JitterSpan& span) {
  if (const auto text = table.text("jitter")) jitter = parse_jitter(*text, table.at("jitter"));
  if (const auto text = table.text_or_integer("jitter_span")) {
    span = parse_jitter_span(*text, table.at("jitter_span"));
  }
}

// The value of a required key.
template <class T>
T needed(const TomlTable& table, std::string_view key, std::string_view where, std::optional<T> value) {
  if (value) return *std::move(value);
  throw InvalidArgument(concat(table.at(key), ": missing ", where));
}

// A name must differ from an index, and from the rest of a flag.
void check_name(const std::string& name, std::string_view what) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const std::string others = concat(kLetters, "0123456789_.-");
  if (!name.empty() && kLetters.find(name[0]) != std::string_view::npos &&
      name.find_first_not_of(others) == std::string::npos) {
    return;
  }
  throw InvalidArgument(concat(what, ": '", name,
                               "' is not a name; allowed: a letter, then letters, digits, '_', '.' and '-'"));
}

// Appends the hosts of a [[host]] and their workers.
void read_host(const TomlTable& table, const Defaults& defaults, Cluster& cluster,
               std::set<std::string>& names) {
  table.allow(kHostKeys, "in [[host]]");
  HostSpec host{"", defaults.network, defaults.inside};
  WorkerSpec worker{.jitter = defaults.jitter, .jitter_span = defaults.jitter_span};
  read_link(table, "network", host.outside);
  read_link(table, "inside", host.inside);
  read_jitter(table, worker.jitter, worker.jitter_span);
  worker.speed = table.number("speed", kMinFactor, kMaxFactor).value_or(1);
  const auto name = table.text("name");
  if (name) check_name(*name, table.at("name"));
  const int workers = needed(table, "workers", "in [[host]]", table.integer("workers", 1, kMaxWorkers));
  const int count = table.integer("count", 1, kMaxWorkers).value_or(1);
  if (static_cast<long long>(workers) * count > kMaxWorkers - static_cast<int>(cluster.workers.size())) {
    throw InvalidArgument(concat(table.at("workers"), ": more than ", kMaxWorkers, " workers in all"));
  }
  for (int i = 0; i < count; ++i) {
    worker.host = static_cast<int>(cluster.hosts.size());
    host.name = name ? *name + (count > 1 ? std::to_string(i) : "") : concat("host", worker.host);
    if (!names.insert(host.name).second) {
      throw InvalidArgument(concat(table.at("name"), ": two hosts are named '", host.name, "'"));
    }
    cluster.hosts.push_back(host);
    cluster.workers.insert(cluster.workers.end(), static_cast<std::size_t>(workers), worker);
  }
}

Cluster read_hosts(const TomlTable& top) {
  Defaults defaults;
  read_link(top, "network", defaults.network);
  read_link(top, "inside", defaults.inside);
  read_jitter(top, defaults.jitter, defaults.jitter_span);
  if (top.tables("host").empty()) {
    const int workers = top.integer("workers", 1, kMaxWorkers).value_or(kDefaultWorkers);
    const int hosts = top.integer("hosts", 1, workers).value_or(workers);
    Cluster cluster = even_cluster(workers, hosts, defaults.network, defaults.inside, defaults.jitter);
    for (WorkerSpec& worker : cluster.workers) worker.jitter_span = defaults.jitter_span;
    return cluster;
  }
  for (const std::string_view key : {"workers", "hosts"}) {
    if (top.has(key)) throw InvalidArgument(concat(top.at(key), ": not together with [[host]]"));
  }
  Cluster cluster;
  cluster.network = defaults.network;
  std::set<std::string> names;
  for (const TomlTable& table : top.tables("host")) read_host(table, defaults, cluster, names);
  return cluster;
}

int last(const Cluster& cluster) { return static_cast<int>(cluster.workers.size()) - 1; }

void read_worker(const TomlTable& table, Cluster& cluster, std::set<Rank>& seen) {
  table.allow(kWorkerKeys, "in [[worker]]");
  const Rank rank = needed(table, "rank", "in [[worker]]", table.integer("rank", 0, last(cluster)));
  if (!seen.insert(rank).second) {
    throw InvalidArgument(concat(table.at("rank"), ": there are two [[worker]] of rank ", rank));
  }
  WorkerSpec& worker = cluster.workers[static_cast<std::size_t>(rank)];
  worker.speed = table.number("speed", kMinFactor, kMaxFactor).value_or(worker.speed);
  read_jitter(table, worker.jitter, worker.jitter_span);
  if (const auto joins = table.duration("joins")) set_join(cluster, rank, Time(*joins), table.at("joins"));
}

struct FaultForm {
  std::string_view name;
  Fault::Kind kind;
  std::span<const std::string_view> keys;
};

constexpr std::string_view kSlowKeys[] = {"kind", "worker", "factor", "from", "to"};
constexpr std::string_view kPauseKeys[] = {"kind", "worker", "from", "to"};
constexpr std::string_view kLinkKeys[] = {"kind", "host", "factor", "from", "to"};
constexpr std::string_view kKillKeys[] = {"kind", "worker", "at"};
constexpr std::string_view kCutKeys[] = {"kind", "host", "from", "to"};
constexpr FaultForm kFaultForms[] = {
    {"slow", Fault::Kind::kSlow, kSlowKeys},  {"pause", Fault::Kind::kPause, kPauseKeys},
    {"link", Fault::Kind::kLink, kLinkKeys},  {"kill", Fault::Kind::kKill, kKillKeys},
    {"stop", Fault::Kind::kStop, kPauseKeys}, {"cut", Fault::Kind::kCut, kCutKeys}};

const FaultForm& fault_form(const TomlTable& table) {
  const std::string kind = needed(table, "kind", "in [[fault]]", table.text("kind"));
  for (const FaultForm& form : kFaultForms) {
    if (form.name == kind) return form;
  }
  throw InvalidArgument(
      concat(table.at("kind"), ": unknown '", kind, "'; allowed: slow, pause, link, kill, stop, cut"));
}

void read_fault(const TomlTable& table, Cluster& cluster) {
  const FaultForm& form = fault_form(table);
  const std::string where = concat("in a [[fault]] of kind ", form.name);
  table.allow(form.keys, where);
  Fault fault{.kind = form.kind};
  if (is_of_host(form.kind)) {
    const std::string host = needed(table, "host", where, table.text_or_integer("host"));
    fault.subject = find_host(cluster, host, concat(table.at("host"), ": '", host, "'"));
  } else {
    fault.subject = needed(table, "worker", where, table.integer("worker", 0, last(cluster)));
  }
  const bool has_factor = form.kind == Fault::Kind::kSlow || form.kind == Fault::Kind::kLink;
  if (has_factor) {
    fault.factor = needed(table, "factor", where, table.number("factor", kMinFactor, kMaxFactor));
  }
  const std::string_view begin = form.kind == Fault::Kind::kKill ? "at" : "from";
  const auto from = table.duration(begin);
  if (!has_factor) needed(table, begin, where, from);
  fault.from = Time(from.value_or(Duration{}));
  fault.to = Time(table.duration("to").value_or(kForever));
  add_fault(cluster, fault, table.at(table.has("to") ? "to" : begin));
}

}  // namespace

Cluster parse_cluster(std::string_view text, std::string_view name) {
  const TomlTable top = TomlTable::parse(text, name);
  top.allow(kTopKeys, "at the top");
  Cluster cluster = read_hosts(top);
  std::set<Rank> seen;
  for (const TomlTable& table : top.tables("worker")) read_worker(table, cluster, seen);
  check_start(cluster, name);
  for (const TomlTable& table : top.tables("fault")) read_fault(table, cluster);
  return cluster;
}

Cluster read_cluster(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw InvalidArgument(concat(path, ": a directory, not a cluster file"));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InvalidArgument(concat(path, ": ", std::generic_category().message(errno)));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_cluster(text, path);
}

}  // namespace starling::cluster
