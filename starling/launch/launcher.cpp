#include "starling/launch/launcher.h"

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <optional>

#include "starling/core/error.h"
#include "starling/launch/launched_process.h"
#include "starling/launch/rank_commands.h"
#include "starling/launch/termination_signals.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/event.h"
#include "starling/runtime/run.h"
#include "starling/strategy/registry.h"
#include "starling/transport/shm/handover.h"

namespace starling::launch {

using runtime::Task;
using transport::shm::Arena;

namespace {

// Agents that a host has not answered yet: sshd turns connections away when 10 others wait to be let in.
constexpr int kMostStarting = 8;

void tell(const std::string& text) { std::fprintf(stderr, "starling: %s\n", text.c_str()); }

// The roles of the ranks in the strategy.
struct Roles {
  int ranks;
  Rank server;   // -1: none
  bool goes_on;  // without a worker
};

Roles roles_in(const LaunchPlan& plan) {
  const strategy::StrategyEntry& row = strategy::find_strategy(plan.strategy);
  const auto strategy = row.make(strategy::Options::parse(row.options, row.name, plan.options), plan.workers);
  const bool own_rank = strategy->service() == strategy::Placement::kOwnRank;
  return {.ranks = plan.workers + (own_rank ? 1 : 0),
          .server = strategy->service() == strategy::Placement::kNone ? -1
                    : own_rank                                        ? plan.workers
                                                                      : 0,
          .goes_on = row.promises.on_loss == strategy::OnLoss::kGoesOn};
}

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
  void read_signal();
  void start_more();
  void start(Rank rank);
  void note_start(Rank rank);
  void note_end(Rank rank);
  void tell_end(Rank rank, bool goes_on);
  void end_all(int signal);
  void abandon_all();

  const LaunchPlan& plan_;
  Roles roles_;
  int interrupted_ = 0;  // by this signal
  TerminationSignals signals_;
  RankCommands starts_;
  runtime::LoopScheduler loop_{{.stall = kForever}};  // waiting for the workers is all it does
  std::shared_ptr<Arena> arena_;
  std::optional<transport::shm::ArenaServer> arena_server_;
  std::list<Rank> waiting_;              // until their host has fewer that start
  std::map<std::string, int> starting_;  // how many, by host
  std::map<Rank, std::unique_ptr<LaunchedProcess>> processes_;
  std::size_t running_ = 0;
  std::optional<int> exit_code_;  // of the first that failed
  runtime::Event ending_{"the end of a worker"};
  runtime::Event all_ended_{"the end of the workers"};
};

Launch::Launch(const LaunchPlan& plan)
    : plan_(plan), roles_(roles_in(plan)), starts_(plan, roles_.ranks, signals_.before()) {
  if (!starts_.arena().empty()) {
    arena_ = Arena::create(starts_.ranks());
    arena_server_.emplace(loop_, arena_, starts_.arena());
  }
  loop_.watch(signals_.descriptor(), [this] { read_signal(); });
  for (Rank rank = 0; rank < starts_.ranks(); ++rank) waiting_.push_back(rank);
  start_more();
}

void Launch::read_signal() {
  const int number = signals_.read();
  if (number == 0) return;
  if (!exit_code_) exit_code_ = 128 + number;
  // A user who asks twice does not want to wait.
  end_all(interrupted_ == 0 ? number : SIGKILL);
  interrupted_ = number;
}

void Launch::start_more() {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto rank = next++;
    if (plan_.elsewhere && starting_[starts_.host_of(*rank)] == kMostStarting) continue;
    start(*rank);
    waiting_.erase(rank);
  }
}

void Launch::start(Rank rank) {
  auto process = std::make_unique<LaunchedProcess>(
      loop_, starts_.of(rank),
      LaunchedProcess::Watch{[this, rank] { note_end(rank); }, [this, rank] { note_start(rank); }});
  if (arena_) arena_->introduce(rank, process->pid());
  if (!process->started()) ++starting_[starts_.host_of(rank)];
  processes_[rank] = std::move(process);
  ++running_;
}

void Launch::note_start(Rank rank) {
  --starting_[starts_.host_of(rank)];
  start_more();
}

void Launch::note_end(Rank rank) {
  --running_;
  const LaunchedProcess& process = *processes_[rank];
  const bool as_asked = interrupted_ != 0 && process.exit_code() == 128 + interrupted_;
  if ((process.exit_code() != 0 || !process.started()) && !as_asked) {
    const bool may_go = roles_.goes_on && rank != roles_.server && rank != plan_.leader && process.started();
    const bool goes_on = may_go && !exit_code_;
    tell_end(rank, goes_on);
    if (!goes_on && !exit_code_) exit_code_ = process.exit_code() != 0 ? process.exit_code() : 1;
    if (!goes_on) waiting_.clear();
    if (!goes_on) ending_.set();
  }
  if (!process.started()) note_start(rank);
  if (running_ == 0 && waiting_.empty()) all_ended_.set();
}

void Launch::tell_end(Rank rank, bool goes_on) {
  const LaunchedProcess& process = *processes_[rank];
  const std::string name = starts_.name_of(rank);
  if (process.started()) {
    tell(concat(name, " ended with ", process.how_ended(), goes_on ? "; the others go on" : ""));
  } else {
    tell(concat(name, " could not be started: ", plan_.elsewhere->agent.front(), " ended with ",
                process.how_ended()));
  }
}

void Launch::end_all(int signal) {
  waiting_.clear();
  for (const auto& [rank, process] : processes_) process->signal(signal);
  ending_.set();
}

// The host decides about its processes when the connection is gone; it may be off.
void Launch::abandon_all() {
  for (const auto& [rank, process] : processes_) {
    if (!process->running()) continue;
    tell(concat(starts_.name_of(rank), " does not answer; it is given up and may still run there"));
    process->abandon();
  }
}

Task<> Launch::wait_for_all() {
  runtime::Scope scope(co_await runtime::this_context());
  scope.spawn(kill_after_grace(), "grace");
  co_await all_ended_;
}

// Processes that wait for the dead one notice by themselves and end with an error that names it.
Task<> Launch::kill_after_grace() {
  const Duration grace = plan_.grace;
  co_await ending_;
  co_await runtime::sleep_for(grace);
  tell(concat(running_, " still run ", format_duration(grace), " after the end began; they are killed"));
  end_all(SIGKILL);
  if (!plan_.elsewhere) co_return;
  co_await runtime::sleep_for(grace);
  abandon_all();
}

}  // namespace

int launch(const LaunchPlan& plan) { return Launch(plan).run(); }

}  // namespace starling::launch
