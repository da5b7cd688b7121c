#include "starling/launch/forked_ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "starling/core/error.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/transport/shm/arena.h"
#include "starling/transport/shm/shm.h"

namespace starling::launch {

using transport::shm::Arena;

struct ForkedRanks::State {
  struct Process {
    pid_t pid = 0;
    Descriptor report;
    bool running = true;
    Outcome outcome;
  };
  std::shared_ptr<Arena> arena;
  std::vector<Process> processes;
};

namespace {

constexpr int kFailed = 1;

// The child's life: never returns into the parent's code.
[[noreturn]] void live(const std::shared_ptr<Arena>& arena, Rank rank, int report,
                       const ForkedRanks::Body& body, const std::optional<transport::Link>& link) {
  int code = 0;
  try {
    runtime::LoopScheduler loop;
    transport::ShmTransport net(loop, arena, rank, link);
    body(net);
  } catch (const std::exception& error) {
    [[maybe_unused]] const auto written = write(report, error.what(), std::strlen(error.what()));
    code = kFailed;
  }
  std::fflush(nullptr);
  _exit(code);
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
  std::fflush(nullptr);  // else each child would print the parent's buffered lines again
  const pid_t parent = getpid();
  for (Rank rank = 0; rank < ranks; ++rank) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw Error(concat("pipe: ", std::strerror(errno)));
    Descriptor report(ends[0]);
    const Descriptor child_end(ends[1]);
    const pid_t pid = fork();
    if (pid < 0) throw Error(concat("fork of rank ", rank, ": ", std::strerror(errno)));
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(kFailed);  // the parent went before prctl
      live(state_->arena, rank, ends[1], body, link);
    }
    state_->arena->introduce(rank, pid);
    state_->processes.push_back({pid, std::move(report), true, {}});
  }
}

ForkedRanks::~ForkedRanks() {
  for (const auto& process : state_->processes) {
    if (process.running) ::kill(process.pid, SIGKILL);
  }
  wait();
}

pid_t ForkedRanks::pid(Rank rank) const { return state_->processes.at(static_cast<std::size_t>(rank)).pid; }

void ForkedRanks::kill(Rank rank, int signal) {
  if (state_->processes.at(static_cast<std::size_t>(rank)).running) ::kill(pid(rank), signal);
}

std::vector<Outcome> ForkedRanks::wait() {
  std::vector<Outcome> outcomes;
  for (auto& process : state_->processes) {
    if (process.running) {
      int status = 0;
      while (waitpid(process.pid, &status, 0) < 0 && errno == EINTR) {
      }
      process.running = false;
      process.outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      process.outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      process.outcome.error = read_all(process.report.get());
    }
    outcomes.push_back(process.outcome);
  }
  return outcomes;
}

}  // namespace starling::launch
