// Ranks as forked processes of this host, joined by shared memory: for tests, benchmarks and programs that
// start their own workers.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "starling/core/types.h"
#include "starling/transport/link.h"
#include "starling/transport/transport.h"

namespace starling::launch {

// How a rank ended.
struct Outcome {
  int exit_code = 0;  // meaningful if signal is 0
  int signal = 0;     // the signal that ended it
  std::string error;  // what() of the exception that left the body, empty otherwise
  bool good() const { return signal == 0 && exit_code == 0 && error.empty(); }
};

class ForkedRanks {
 public:
  // The body is run in each process; it drives its own loop: `runtime::run(net.scheduler(), task)`.
  using Body = std::function<void(transport::Transport& net)>;

  // Forks; call it while the process has no other threads that matter. With a link the ranks behave as if
  // each were alone on a host behind such a link.
  ForkedRanks(int ranks, const Body& body, const std::optional<transport::Link>& link = {});
  // Kills and reaps the ranks that still run.
  ~ForkedRanks();

  pid_t pid(Rank rank) const;
  void kill(Rank rank, int signal);

  // Waits for all to end.
  std::vector<Outcome> wait();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::launch
