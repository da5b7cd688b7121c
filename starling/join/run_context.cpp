#include "starling/join/run_context.h"

#include <algorithm>
#include <chrono>

#include "starling/core/error.h"
#include "starling/core/log.h"
#include "starling/join/join.h"
#include "starling/strategy/registry.h"
#include "starling/transport/shm/handover.h"
#include "starling/transport/shm/shm.h"

namespace starling::join {

namespace {

constexpr Duration kPatience = std::chrono::seconds(30);  // for the launcher to hand out the memory

strategy::Options options_of(const RunEnvironment& environment) {
  const strategy::StrategyEntry& entry = strategy::find_strategy(environment.strategy);
  return strategy::Options::parse(entry.options, entry.name, environment.options);
}

std::unique_ptr<strategy::Strategy> make_strategy(const RunEnvironment& environment) {
  return strategy::find_strategy(environment.strategy).make(options_of(environment), environment.workers);
}

void tell_transport(const RunEnvironment& environment, const transport::Transport& net) {
  const auto last = std::max_element(environment.host_of_rank.begin(), environment.host_of_rank.end());
  if (environment.rank != 0 || last == environment.host_of_rank.end() || *last == 0) return;
  stderr_log(LogLevel::kInfo)(LogLevel::kInfo, concat(environment.ranks, " ranks on ", *last + 1,
                                                      " hosts, connected by ", net.name()));
}

}  // namespace

RunContext::RunContext(RunEnvironment environment)
    : environment_(std::move(environment)),
      equal_models_(
          has_equal_models(strategy::find_strategy(environment_.strategy), options_of(environment_))),
      strategy_(make_strategy(environment_)) {
  if (joins_by_itself(environment_)) {
    if (environment_.link && environment_.host_socket.empty())
      throw InvalidArgument("a link is emulated on one host only, and the ranks of this run meet " +
                            join_method_text(environment_));
    Joined joined = join_run(loop_, environment_);
    environment_.host_of_rank = std::move(joined.host_of_rank);
    mpi_ = std::move(joined.mpi);
    net_ = std::move(joined.net);
    tell_transport(environment_, *net_);
  } else {
    auto arena = environment_.arena.empty() ? transport::shm::Arena::create(environment_.ranks)
                                            : transport::shm::fetch_arena(environment_.arena, kPatience);
    net_ = std::make_unique<transport::ShmTransport>(loop_, std::move(arena), environment_.rank,
                                                     environment_.link);
  }
  keeper_.emplace(loop_, *net_, environment_.stall_limit);
}

runtime::LoopScheduler& RunContext::loop() {
  keeper_->hand_over();
  return loop_;
}

transport::Transport& RunContext::net() {
  keeper_->hand_over();
  return *net_;
}

RunContext::~RunContext() = default;

}  // namespace starling::join
