// The description of a cluster, simulated or emulated: its workers, hosts and links, and what goes wrong
// when.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "starling/cluster/jitter.h"
#include "starling/cluster/jitter_span.h"
#include "starling/core/types.h"
#include "starling/transport/link.h"

namespace starling::cluster {

using transport::Link;
using transport::parse_link;

inline constexpr int kDefaultWorkers = 4;
inline constexpr int kMaxWorkers = 100'000;

// The range of speeds and factors.
inline constexpr double kMinFactor = 1e-6;
inline constexpr double kMaxFactor = 1e6;

struct HostSpec {
  std::string name;
  Link outside;  // to other hosts
  Link inside;   // between ranks of this host
};

struct WorkerSpec {
  int host = 0;
  double speed = 1;
  Jitter jitter;
  JitterSpan jitter_span{};
  Time joins{};  // later than 0: absent at the start
};

struct Fault {
  // A paused worker computes nothing; one that is stopped does not even answer. Hosts that are cut off reach
  // each other and no other host.
  enum class Kind { kSlow, kPause, kLink, kKill, kStop, kCut };
  Kind kind = Kind::kSlow;
  int subject = 0;  // a worker; for kLink and kCut a host
  Time from{};
  Time to = Time(kForever);  // none for kKill
  double factor = 1;         // kSlow: multiplies the step time; kLink: divides the bandwidth
};

inline bool is_of_host(Fault::Kind kind) { return kind == Fault::Kind::kLink || kind == Fault::Kind::kCut; }

struct Cluster {
  std::vector<HostSpec> hosts;
  std::vector<WorkerSpec> workers;  // by rank
  std::vector<Fault> faults;
  Link network;  // of hosts that are not listed, those of services, to others

  // Ranks beyond the workers are services, each on a host of its own behind the listed ones.
  int host_of(Rank rank) const;
  int workers_on(int host) const;
};

// "host0", ... with consecutive ranks on a host; the first hosts get one more if the division is not even. 1
// <= hosts <= workers.
Cluster even_cluster(int workers, int hosts, const Link& network, const Link& inside, const Jitter& jitter);

// The functions below throw InvalidArgument, one line that starts with `what`.

// A host by its index or name.
int find_host(const Cluster& cluster, std::string_view text, std::string_view what);

// The subject must exist. A slowdown of the whole run becomes a lower speed. A worker cannot be killed twice,
// or before it joined.
void add_fault(Cluster& cluster, const Fault& fault, std::string_view what);

void set_join(Cluster& cluster, Rank worker, Time joins, std::string_view what);

// Refuses a cluster without a worker at the start.
void check_start(const Cluster& cluster, std::string_view what);

}  // namespace starling::cluster
