// A cluster to be simulated: its workers, hosts, links, and what goes wrong when.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "starling/cluster/jitter.h"
#include "starling/core/types.h"
#include "starling/transport/link.h"

namespace starling::cluster {

using transport::Link;
using transport::parse_link;

inline constexpr int kDefaultWorkers = 4;
inline constexpr int kMaxWorkers = 100'000;

// What speeds and factors may be.
inline constexpr double kMinFactor = 1e-6;
inline constexpr double kMaxFactor = 1e6;

struct HostSpec {
  std::string name;
  Link outside;  // its way to other hosts
  Link inside;   // between ranks of this host
};

struct WorkerSpec {
  int host = 0;
  double speed = 1;
  Jitter jitter;
  Time joins{};  // later than 0: it is not there at the start
};

struct Fault {
  enum class Kind { kSlow, kPause, kLink, kKill };
  Kind kind = Kind::kSlow;
  int subject = 0;  // a worker; for kLink a host
  Time from{};
  Time to = Time(kForever);  // of kKill: none
  double factor = 1;         // kSlow: of the step time; kLink: what the bandwidth is divided by
};

struct Cluster {
  std::vector<HostSpec> hosts;
  std::vector<WorkerSpec> workers;  // by rank
  std::vector<Fault> faults;
  Link network;  // the way out of hosts that are not listed: those of services

  // Ranks beyond the workers are services, each on a host of its own behind the listed ones.
  int host_of(Rank rank) const;
  int workers_on(int host) const;
};

// "host0", ... with consecutive ranks on a host; the first hosts get one more where it does not come out
// even. 1 <= hosts <= workers.
Cluster even_cluster(int workers, int hosts, const Link& network, const Link& inside, const Jitter& jitter);

// Those below throw InvalidArgument, one line that starts with `what`.

// A host by its index or name.
int find_host(const Cluster& cluster, std::string_view text, std::string_view what);

// The subject must exist. A slowdown of the whole run becomes a lower speed. Nobody is killed twice, or
// before it joined.
void add_fault(Cluster& cluster, const Fault& fault, std::string_view what);

void set_join(Cluster& cluster, Rank worker, Time joins, std::string_view what);

// Refuses a cluster of which nobody is there at the start.
void check_start(const Cluster& cluster, std::string_view what);

}  // namespace starling::cluster
