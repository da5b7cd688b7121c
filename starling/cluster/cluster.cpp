#include "starling/cluster/cluster.h"

#include <algorithm>
#include <charconv>

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::cluster {
namespace {

std::string at(Time time) { return format_duration(time.time_since_epoch()); }

const Fault* kill_of(const Cluster& cluster, Rank worker) {
  for (const Fault& fault : cluster.faults) {
    if (fault.kind == Fault::Kind::kKill && fault.subject == worker) return &fault;
  }
  return nullptr;
}

void check_life(Rank worker, Time joins, Time killed, std::string_view what) {
  if (joins < killed) return;
  throw InvalidArgument(
      concat(what, ": worker ", worker, " is killed at ", at(killed), ", not after it joins at ", at(joins)));
}

}  // namespace

int Cluster::host_of(Rank rank) const {
  const int listed = static_cast<int>(workers.size());
  return rank < listed ? workers[static_cast<std::size_t>(rank)].host
                       : static_cast<int>(hosts.size()) + rank - listed;
}

int Cluster::workers_on(int host) const {
  return static_cast<int>(
      std::count_if(workers.begin(), workers.end(), [&](const WorkerSpec& w) { return w.host == host; }));
}

Cluster even_cluster(int workers, int hosts, const Link& network, const Link& inside, const Jitter& jitter) {
  Cluster cluster;
  cluster.network = network;
  for (int host = 0; host < hosts; ++host) {
    cluster.hosts.push_back({concat("host", host), network, inside});
    const int count = workers / hosts + (host < workers % hosts ? 1 : 0);
    cluster.workers.insert(cluster.workers.end(), static_cast<std::size_t>(count),
                           {.host = host, .jitter = jitter});
  }
  return cluster;
}

int find_host(const Cluster& cluster, std::string_view text, std::string_view what) {
  const auto& hosts = cluster.hosts;
  const auto named =
      std::find_if(hosts.begin(), hosts.end(), [&](const HostSpec& host) { return host.name == text; });
  if (named != hosts.end()) return static_cast<int>(named - hosts.begin());
  int index = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error == std::errc{} && stop == text.data() + text.size() && index >= 0 &&
      index < static_cast<int>(hosts.size())) {
    return index;
  }
  throw InvalidArgument(concat(what, ": there are hosts 0 to ", hosts.size() - 1, ", named ",
                               hosts.front().name, " to ", hosts.back().name));
}

void add_fault(Cluster& cluster, const Fault& fault, std::string_view what) {
  const bool of_host = is_of_host(fault.kind);
  const std::size_t subjects = of_host ? cluster.hosts.size() : cluster.workers.size();
  if (fault.subject < 0 || static_cast<std::size_t>(fault.subject) >= subjects) {
    throw InvalidArgument(
        concat(what, ": there are ", of_host ? "hosts" : "workers", " 0 to ", subjects - 1));
  }
  if (fault.kind == Fault::Kind::kKill) {
    if (kill_of(cluster, fault.subject) != nullptr) {
      throw InvalidArgument(concat(what, ": worker ", fault.subject, " is killed twice"));
    }
    check_life(fault.subject, cluster.workers[static_cast<std::size_t>(fault.subject)].joins, fault.from,
               what);
  } else if (fault.from >= fault.to) {
    throw InvalidArgument(
        concat(what, ": the end, ", at(fault.to), ", is not after the start, ", at(fault.from)));
  }
  if (fault.kind == Fault::Kind::kSlow && fault.from == Time{} && fault.to == Time(kForever)) {
    cluster.workers[static_cast<std::size_t>(fault.subject)].speed /= fault.factor;
  } else {
    cluster.faults.push_back(fault);
  }
}

void set_join(Cluster& cluster, Rank worker, Time joins, std::string_view what) {
  if (worker < 0 || static_cast<std::size_t>(worker) >= cluster.workers.size()) {
    throw InvalidArgument(concat(what, ": there are workers 0 to ", cluster.workers.size() - 1));
  }
  if (const Fault* kill = kill_of(cluster, worker)) check_life(worker, joins, kill->from, what);
  cluster.workers[static_cast<std::size_t>(worker)].joins = joins;
}

void check_start(const Cluster& cluster, std::string_view what) {
  if (std::any_of(cluster.workers.begin(), cluster.workers.end(),
                  [](const WorkerSpec& worker) { return worker.joins == Time{}; })) {
    return;
  }
  throw InvalidArgument(concat(what, ": nobody is there at the start: every worker joins later"));
}

}  // namespace starling::cluster
