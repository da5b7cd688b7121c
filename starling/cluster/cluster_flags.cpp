#include "starling/cluster/cluster_flags.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "starling/cluster/cluster_file.h"
#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::cluster {
namespace {

struct Form {
  std::string_view flag;
  Fault::Kind kind;
  std::string_view text;
};

constexpr Form kSlow{"--slow", Fault::Kind::kSlow,
                     "WORKER:FACTOR, WORKER:FACTOR@FROM or WORKER:FACTOR@FROM-TO"};
constexpr Form kPause{"--pause", Fault::Kind::kPause, "WORKER@FROM or WORKER@FROM-TO"};
constexpr Form kLink{"--link-slow", Fault::Kind::kLink,
                     "HOST:FACTOR, HOST:FACTOR@FROM or HOST:FACTOR@FROM-TO"};
constexpr Form kKill{"--kill", Fault::Kind::kKill, "WORKER@AT"};
constexpr Form kStop{"--stop", Fault::Kind::kStop, "WORKER@FROM or WORKER@FROM-TO"};
constexpr Form kCut{"--cut", Fault::Kind::kCut, "HOST@FROM or HOST@FROM-TO"};

// "0:4@10s-20s" cut into "0", "4", "10s-20s".
struct Parts {
  std::string_view subject;
  std::optional<std::string_view> factor;
  std::optional<std::string_view> when;
};

// Cuts off the part after the separator.
std::optional<std::string_view> cut(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

Parts cut_parts(std::string_view text) {
  Parts parts;
  parts.when = cut(text, '@');
  parts.factor = cut(text, ':');
  parts.subject = text;
  return parts;
}

// The dash between two durations; that of an exponent, as in 1e-3, does not count.
std::size_t find_dash(std::string_view text) {
  std::size_t dash = text.find('-');
  while (dash != std::string_view::npos && dash > 0 && text[dash - 1] == 'e') dash = text.find('-', dash + 1);
  return dash;
}

void read_interval(std::string_view text, std::string_view what, Fault& fault) {
  const std::size_t dash = fault.kind == Fault::Kind::kKill ? std::string_view::npos : find_dash(text);
  fault.from = Time(parse_duration(text.substr(0, dash), what));
  if (dash != std::string_view::npos) fault.to = Time(parse_duration(text.substr(dash + 1), what));
}

// -1 if it is not a number; the caller refuses that.
int worker_number(std::string_view text) {
  int number = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return stop == text.data() + text.size() && error == std::errc{} ? number : -1;
}

// All but the subject, which only the cluster knows.
Fault read_fault(const Form& form, std::string_view text, const Parts& parts) {
  const bool has_factor = form.kind == Fault::Kind::kSlow || form.kind == Fault::Kind::kLink;
  if (parts.factor.has_value() != has_factor || !(parts.when || has_factor)) {
    throw InvalidArgument(concat(form.flag, ": '", text, "' is not ", form.text));
  }
  const std::string what = concat(form.flag, ": '", text, "'");
  Fault fault{.kind = form.kind};
  if (has_factor) fault.factor = parse_number(*parts.factor, what, kMinFactor, kMaxFactor);
  if (parts.when) read_interval(*parts.when, what, fault);
  return fault;
}

void apply_fault(const Form& form, std::string_view text, Cluster& cluster) {
  const Parts parts = cut_parts(text);
  Fault fault = read_fault(form, text, parts);
  const std::string what = concat(form.flag, ": '", text, "'");
  fault.subject =
      is_of_host(form.kind) ? find_host(cluster, parts.subject, what) : worker_number(parts.subject);
  add_fault(cluster, fault, what);
}

Time read_join(std::string_view text, const Parts& parts) {
  if (parts.factor || !parts.when) {
    throw InvalidArgument(concat("--join: '", text, "' is not WORKER@AT"));
  }
  return Time(parse_duration(*parts.when, concat("--join: '", text, "'")));
}

void apply_join(std::string_view text, Cluster& cluster) {
  const Parts parts = cut_parts(text);
  const Time joins = read_join(text, parts);
  set_join(cluster, worker_number(parts.subject), joins, concat("--join: '", text, "'"));
}

// "0:4,3:2" is "0:4" and "3:2"; an empty text is one part, which is refused.
std::vector<std::string> split_list(std::string_view text) {
  return text.empty() ? std::vector<std::string>{""} : split(text, ',');
}

template <class Apply>
void apply_all(const std::vector<std::string>& texts, Apply apply) {
  for (const std::string& text : texts) {
    for (const std::string& part : split_list(text)) apply(part);
  }
}

Cluster plain_cluster(const ClusterFlags& flags) {
  if (flags.file) {
    for (const auto& [flag, value] :
         {std::pair("--workers", flags.workers), std::pair("--hosts", flags.hosts)}) {
      if (value) {
        throw InvalidArgument(concat(flag, ": '", *value, "': the cluster file '", *flags.file,
                                     "' already says which workers and hosts there are"));
      }
    }
    if (flags.file->empty()) throw InvalidArgument("--cluster: the name of the file is empty");
    return read_cluster(*flags.file);
  }
  int workers = kDefaultWorkers;
  if (flags.workers) workers = static_cast<int>(parse_integer(*flags.workers, "--workers", 1, kMaxWorkers));
  int hosts = workers;
  if (flags.hosts) hosts = static_cast<int>(parse_integer(*flags.hosts, "--hosts", 1, workers));
  return even_cluster(workers, hosts, parse_link("10gbe", "--network"), parse_link("shm", "--inside"), {});
}

// It would change nothing where no worker has a jitter.
void check_jitter_span_use(const ClusterFlags& flags, const Cluster& cluster) {
  const bool used = flags.jitter || std::any_of(cluster.workers.begin(), cluster.workers.end(),
                                                [](const WorkerSpec& w) { return w.jitter != Jitter{}; });
  if (used) return;
  throw InvalidArgument(
      concat("--jitter-span: '", *flags.jitter_span, "': no worker has a jitter; allowed with --jitter"));
}

// For all hosts and workers, also those of a file.
void apply_defaults(const ClusterFlags& flags, Cluster& cluster) {
  if (flags.network) {
    cluster.network = parse_link(*flags.network, "--network");
    for (HostSpec& host : cluster.hosts) host.outside = cluster.network;
  }
  if (flags.inside) {
    const Link inside = parse_link(*flags.inside, "--inside");
    for (HostSpec& host : cluster.hosts) host.inside = inside;
  }
  if (flags.jitter) {
    const Jitter jitter = parse_jitter(*flags.jitter, "--jitter");
    for (WorkerSpec& worker : cluster.workers) worker.jitter = jitter;
  }
  if (flags.jitter_span) {
    const JitterSpan span = parse_jitter_span(*flags.jitter_span, "--jitter-span");
    check_jitter_span_use(flags, cluster);
    for (WorkerSpec& worker : cluster.workers) worker.jitter_span = span;
  }
}

}  // namespace

Cluster make_cluster(const ClusterFlags& flags) {
  Cluster cluster = plain_cluster(flags);
  apply_defaults(flags, cluster);
  apply_all(flags.join, [&](const std::string& text) { apply_join(text, cluster); });
  check_start(cluster, "--join");
  for (const auto& [form, texts] :
       {std::pair(&kSlow, &flags.slow), std::pair(&kPause, &flags.pause), std::pair(&kLink, &flags.link),
        std::pair(&kKill, &flags.kill), std::pair(&kStop, &flags.stop), std::pair(&kCut, &flags.cut)}) {
    apply_all(*texts, [&, form = form](const std::string& text) { apply_fault(*form, text, cluster); });
  }
  return cluster;
}

void check_form(std::string_view flag, std::string_view text) {
  for (const std::string& part : split_list(text)) {
    const Parts parts = cut_parts(part);
    for (const Form* const form : {&kSlow, &kPause, &kLink, &kKill, &kStop, &kCut}) {
      if (form->flag == flag) read_fault(*form, part, parts);
    }
    if (flag == "--join") read_join(part, parts);
  }
}

}  // namespace starling::cluster
