#include "starling/session/launcher.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "starling/core/error.h"
#include "starling/core/random.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/event.h"
#include "starling/runtime/run.h"
#include "starling/session/launched_process.h"
#include "starling/strategy/registry.h"
#include "starling/transport/shm/handover.h"

namespace starling::session {

using runtime::Task;
using transport::shm::Arena;
using transport::shm::Descriptor;

namespace {

void tell(const std::string& text) { std::fprintf(stderr, "starling: %s\n", text.c_str()); }

// The signals that end a run come through a descriptor while this lives.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&wanted_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted_, number);
    sigprocmask(SIG_BLOCK, &wanted_, &before_);
    descriptor_ = Descriptor(signalfd(-1, &wanted_, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!descriptor_.valid()) throw Error(concat("signalfd: ", std::strerror(errno)));
  }
  ~EndSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  int descriptor() const { return descriptor_.get(); }
  const sigset_t& before() const { return before_; }
  int read() const {
    signalfd_siginfo info{};
    return ::read(descriptor_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                        : 0;
  }

 private:
  sigset_t wanted_{};
  sigset_t before_{};
  Descriptor descriptor_;
};

class Launch {
 public:
  explicit Launch(const LaunchPlan& plan);
  ~Launch() { loop_.unwatch(signals_.descriptor()); }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  int run() {
    runtime::run(loop_, wait_for_all(), "launcher");
    return exit_code_.value_or(0);
  }

 private:
  Task<> wait_for_all();
  Task<> kill_after_grace();
  void note_end(Rank rank);
  void end_all(int signal);

  bool goes_on_;
  Rank server_;
  Rank leader_;
  Duration grace_;
  int interrupted_ = 0;  // by this signal
  EndSignals signals_;
  runtime::LoopScheduler loop_{{.stall = kForever}};  // waiting for the workers is all it does
  std::shared_ptr<Arena> arena_;
  std::optional<transport::shm::ArenaServer> arena_server_;
  std::vector<std::unique_ptr<LaunchedProcess>> processes_;
  std::size_t running_ = 0;
  std::optional<int> exit_code_;  // of the first that failed
  runtime::Event ending_{"the end of a worker"};
  runtime::Event all_ended_{"the end of the workers"};
};

Launch::Launch(const LaunchPlan& plan) : leader_(plan.leader), grace_(plan.grace) {
  const strategy::Row& row = strategy::find_strategy(plan.strategy);
  const auto strategy = row.make(strategy::Options::parse(row.options, row.name, plan.options), plan.workers);
  const bool own_rank = strategy->service() == strategy::Placement::kOwnRank;
  goes_on_ = row.promises.on_loss == strategy::OnLoss::kGoesOn;
  server_ = strategy->service() == strategy::Placement::kNone ? -1 : own_rank ? plan.workers : 0;
  Standing standing{
      .workers = plan.workers,
      .ranks = plan.workers + (own_rank ? 1 : 0),
      .arena = concat("starling-", getpid(), "-", Random(static_cast<std::uint64_t>(getpid())).next()),
      .strategy = plan.strategy,
      .options = plan.options,
      .link = plan.link};
  arena_ = Arena::create(standing.ranks);
  arena_server_.emplace(loop_, arena_, standing.arena);
  loop_.watch(signals_.descriptor(), [this] {
    if (const int number = signals_.read(); number != 0) {
      if (!exit_code_) exit_code_ = 128 + number;
      // Who asks twice does not want to wait.
      end_all(interrupted_ == 0 ? number : SIGKILL);
      interrupted_ = number;
    }
  });
  for (Rank rank = 0; rank < standing.ranks; ++rank) {
    standing.rank = rank;
    std::optional<std::string> prefix;
    if (!plan.own_output) prefix = concat("[", rank, "] ");
    processes_.push_back(std::make_unique<LaunchedProcess>(loop_, prefix, plan.command,
                                                           variables_of(standing), signals_.before(),
                                                           [this, rank] { note_end(rank); }));
    arena_->introduce(rank, processes_.back()->pid());
    ++running_;
  }
}

void Launch::note_end(Rank rank) {
  --running_;
  const LaunchedProcess& process = *processes_[static_cast<std::size_t>(rank)];
  const bool as_asked = interrupted_ != 0 && process.exit_code() == 128 + interrupted_;
  if (process.exit_code() != 0 && !as_asked) {
    const bool goes_on = goes_on_ && rank != server_ && rank != leader_ && !exit_code_;
    tell(concat("rank ", rank, " ended with ", process.how_ended(), goes_on ? "; the others go on" : ""));
    if (!goes_on && !exit_code_) exit_code_ = process.exit_code();
    if (!goes_on) ending_.set();
  }
  if (running_ == 0) all_ended_.set();
}

void Launch::end_all(int signal) {
  for (const auto& process : processes_) process->signal(signal);
  ending_.set();
}

Task<> Launch::wait_for_all() {
  runtime::Scope scope(co_await runtime::this_context());
  scope.spawn(kill_after_grace(), "grace");
  co_await all_ended_;
}

// Those who wait for the dead one learn of it by themselves and end with an error that names it.
Task<> Launch::kill_after_grace() {
  const Duration grace = grace_;
  co_await ending_;
  co_await runtime::sleep_for(grace);
  tell(concat(running_, " still run ", format_duration(grace), " after the end began; they are killed"));
  end_all(SIGKILL);
}

}  // namespace

int launch(const LaunchPlan& plan) { return Launch(plan).run(); }

}  // namespace starling::session
