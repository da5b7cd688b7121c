#include "starling/launch/launcher.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <optional>

#include "starling/core/error.h"
#include "starling/launch/group_guard.h"
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

bool ends_on_loss(const LaunchPlan& plan) {
  return plan.end_on_loss ? *plan.end_on_loss : join::ends_on_loss(join::process_environment());
}

namespace {

// Agents that a host has not answered yet: sshd turns connections away when 10 others wait to be let in.
constexpr int kMostStarting = 8;

void tell(const std::string& text) { std::fprintf(stderr, "starling: %s\n", text.c_str()); }

// The roles of the ranks in the strategy.
struct Roles {
  int ranks;
  Rank server;     // -1: none
  bool goes_on;    // without a worker
  bool needs_all;  // a worker that fails by itself, instead of being killed, ends the run
};

Roles roles_in(const LaunchPlan& plan) {
  const strategy::StrategyEntry& row = strategy::find_strategy(plan.strategy);
  const auto strategy = row.make(strategy::Options::parse(row.options, row.name, plan.options), plan.workers);
  const bool own_rank = strategy->service() == strategy::Placement::kOwnRank;
  const bool ends = row.promises.needs_all && ends_on_loss(plan);
  return {.ranks = plan.workers + (own_rank ? 1 : 0),
          .server = strategy->service() == strategy::Placement::kNone ? -1
                    : own_rank                                        ? plan.workers
                                                                      : 0,
          .goes_on = row.promises.on_loss == strategy::OnLoss::kGoesOn && !ends,
          .needs_all = row.promises.needs_all};
}

class Launch {
 public:
  explicit Launch(const LaunchPlan& plan);
  ~Launch() { loop_.unwatch(signals_.descriptor()); }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  int run() {
    runtime::run(loop_, wait_for_all(), "launcher");
    if (exit_code_) return *exit_code_;
    return worker_ended_well_ ? 0 : survived_.value_or(0);
  }

 private:
  Task<> wait_for_all();
  Task<> kill_after_grace();
  Task<> kill_the_stopped();
  void read_signal();
  void start_more();
  void start(Rank rank);
  void note_start(Rank rank);
  void note_end(Rank rank);
  bool goes_on_after(Rank rank) const;
  void tell_end(Rank rank, bool goes_on);
  void end_all(int signal);
  void abandon_all();

  const LaunchPlan& plan_;
  Roles roles_;
  int interrupted_ = 0;  // by this signal
  TerminationSignals signals_;
  GroupGuard guard_;
  RankCommands starts_;
  runtime::LoopScheduler loop_{{.stall = kForever}};  // waiting for the workers is all it does
  std::shared_ptr<Arena> arena_;
  std::optional<transport::shm::ArenaServer> arena_server_;
  std::list<Rank> waiting_;              // until their host has fewer that start
  std::map<std::string, int> starting_;  // how many, by host
  std::map<Rank, std::unique_ptr<LaunchedProcess>> processes_;
  std::size_t running_ = 0;
  std::optional<int> exit_code_;  // of the first that failed and that the run cannot do without
  std::optional<int> survived_;   // of the first that failed and that it can do without
  bool worker_ended_well_ = false;
  runtime::Event finished_{"the first worker that ends well"};
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
  guard_.add(process->pid());
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
  guard_.remove(process.pid());
  const bool as_asked = interrupted_ != 0 && process.exit_code() == 128 + interrupted_;
  const bool good = process.exit_code() == 0 && process.started();
  if (good && rank < plan_.workers) worker_ended_well_ = true;
  if (!good && !as_asked) {
    const bool goes_on = goes_on_after(rank) && !exit_code_;
    tell_end(rank, goes_on);
    std::optional<int>& code = goes_on ? survived_ : exit_code_;
    if (!code) code = process.exit_code() != 0 ? process.exit_code() : 1;
    if (!goes_on) waiting_.clear();
    if (!goes_on) ending_.set();
  }
  if (process.exit_code() == 0) finished_.set();
  if (!process.started()) note_start(rank);
  if (running_ == 0 && waiting_.empty()) all_ended_.set();
}

bool Launch::goes_on_after(Rank rank) const {
  const LaunchedProcess& process = *processes_.at(rank);
  const auto& codes = plan_.run_exit_codes;
  const bool about_run = std::find(codes.begin(), codes.end(), process.exit_code()) != codes.end();
  const bool killed = process.exit_code() > 128 || process.exit_code() == join::kExcludedExitCode;
  return roles_.goes_on && rank != roles_.server && process.started() && !about_run &&
         (killed || !roles_.needs_all);
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
  scope.spawn(kill_the_stopped(), "stopped processes");
  co_await all_ended_;
}

// Where some have come to the end of the run, one that is stopped was given up by them, and will not end by
// itself. While it lives with others on a host, these end it (STARLING_STALL).
Task<> Launch::kill_the_stopped() {
  const Duration between = plan_.grace;
  co_await finished_;
  while (true) {
    co_await runtime::sleep_for(between);
    for (const auto& [rank, process] : processes_) process->kill_if_stopped();
  }
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
