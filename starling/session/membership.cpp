#include "starling/session/membership.h"

#include <algorithm>
#include <chrono>

#include "starling/core/error.h"
#include "starling/core/log.h"
#include "starling/session/join.h"
#include "starling/strategy/registry.h"
#include "starling/transport/shm/handover.h"
#include "starling/transport/shm/shm.h"

namespace starling::session {

namespace {

constexpr Duration kPatience = std::chrono::seconds(30);  // for the launcher to hand out the memory

std::unique_ptr<strategy::Strategy> make_strategy(const Standing& standing) {
  const strategy::Row& row = strategy::find_strategy(standing.strategy);
  return row.make(strategy::Options::parse(row.options, row.name, standing.options), standing.workers);
}

void tell_transport(const Standing& standing, const transport::Transport& net) {
  const auto last = std::max_element(standing.host_of_rank.begin(), standing.host_of_rank.end());
  if (standing.rank != 0 || last == standing.host_of_rank.end() || *last == 0) return;
  stderr_log(LogLevel::kInfo)(
      LogLevel::kInfo, concat(standing.ranks, " ranks on ", *last + 1, " hosts, connected by ", net.name()));
}

}  // namespace

Membership::Membership(Standing standing)
    : standing_(std::move(standing)), strategy_(make_strategy(standing_)) {
  if (joins_by_itself(standing_)) {
    if (standing_.link && standing_.host_socket.empty())
      throw InvalidArgument("a link is emulated on one host only, and the ranks of this run meet " +
                            text_of_way(standing_));
    Joined joined = join_run(loop_, standing_);
    standing_.host_of_rank = std::move(joined.host_of_rank);
    mpi_ = std::move(joined.mpi);
    net_ = std::move(joined.net);
    tell_transport(standing_, *net_);
    return;
  }
  auto arena = standing_.arena.empty() ? transport::shm::Arena::create(standing_.ranks)
                                       : transport::shm::fetch_arena(standing_.arena, kPatience);
  net_ = std::make_unique<transport::ShmTransport>(loop_, std::move(arena), standing_.rank, standing_.link);
}

Membership::~Membership() = default;

}  // namespace starling::session
