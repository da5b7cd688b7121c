#include "starling/launch/forked_ranks.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "starling/core/child_process.h"
#include "starling/core/descriptor.h"
#include "starling/core/error.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/transport/shm/arena.h"
#include "starling/transport/shm/shm.h"

namespace starling::launch {

using transport::shm::Arena;

struct ForkedRanks::State {
  struct Process {
    ChildProcess child;
    Descriptor report;
    std::optional<Outcome> outcome = {};  // after its end
  };
  std::shared_ptr<Arena> arena;
  std::vector<Process> processes;
};

namespace {

constexpr int kFailed = 1;

// The child's life. The exit code.
int live(const std::shared_ptr<Arena>& arena, Rank rank, int report, const ForkedRanks::Body& body,
         const std::optional<transport::Link>& link) {
  try {
    runtime::LoopScheduler loop;
    transport::ShmTransport net(loop, arena, rank, link);
    body(net);
  } catch (const std::exception& error) {
    [[maybe_unused]] const auto written = write(report, error.what(), std::strlen(error.what()));
    return kFailed;
  }
  return 0;
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t got = read(descriptor, part.data(), part.size());
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

ForkedRanks::ForkedRanks(int ranks, const Body& body, const std::optional<transport::Link>& link)
    : state_(std::make_unique<State>()) {
  state_->arena = Arena::create(ranks);
  for (Rank rank = 0; rank < ranks; ++rank) {
    DescriptorPair report = make_pipe();
    set_nonblocking(report.first);
    set_nonblocking(report.second);
    ChildProcess child([&] { return live(state_->arena, rank, report.second.get(), body, link); });
    state_->arena->introduce(rank, child.pid());
    state_->processes.push_back({std::move(child), std::move(report.first)});
  }
}

ForkedRanks::~ForkedRanks() {
  for (const auto& process : state_->processes) process.child.signal(SIGKILL);
}

pid_t ForkedRanks::pid(Rank rank) const {
  return state_->processes.at(static_cast<std::size_t>(rank)).child.pid();
}

void ForkedRanks::kill(Rank rank, int signal) {
  state_->processes.at(static_cast<std::size_t>(rank)).child.signal(signal);
}

std::vector<Outcome> ForkedRanks::wait() {
  std::vector<Outcome> outcomes;
  for (auto& process : state_->processes) {
    if (!process.outcome) {
      const ProcessEnd end = process.child.wait();
      process.outcome = {end.exit_code, end.signal, read_all(process.report.get())};
    }
    outcomes.push_back(*process.outcome);
  }
  return outcomes;
}

}  // namespace starling::launch
