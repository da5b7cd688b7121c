// A cluster to be simulated: its workers, hosts, links, and what goes wrong when.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "starling/core/random.h"
#include "starling/core/types.h"

namespace starling::sim {

// What a step's time is multiplied by, drawn anew for every step. All but kNone, kNormal and kLognormal keep
// the name of the distribution of the whole factor.
struct Jitter {
  enum class Kind { kNone, kNormal, kLognormal, kExponential, kPareto, kBernoulli };
  Kind kind = Kind::kNone;
  double a = 0;  // normal, lognormal: sigma; exponential: none; pareto: shape; bernoulli: probability
  double b = 0;  // bernoulli: the factor
};

// One factor, above 0.
double draw(const Jitter& jitter, Random& random);

struct Link {
  double bytes_per_second = 1.25e9;
  Duration latency{};
};

struct HostSpec {
  std::string name;
  Link outside;  // its way to other hosts, each direction
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
  std::vector<WorkerSpec> workers;
  std::vector<Fault> faults;

  // Host of a rank; ranks beyond the workers are services, each on a host of its own behind the others.
  int workers_on(int host) const;
};

}  // namespace starling::sim
