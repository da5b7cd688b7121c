#include "starling/session/membership.h"

#include <chrono>

#include "starling/core/error.h"
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

}  // namespace

Membership::Membership(Standing standing)
    : standing_(std::move(standing)), strategy_(make_strategy(standing_)) {
  if (!standing_.rendezvous.empty()) {
    if (standing_.link)
      throw InvalidArgument("a link is emulated on one host only, and this run has a rendezvous");
    Joined joined = join_run(loop_, standing_);
    standing_.host_of_rank = std::move(joined.host_of_rank);
    net_ = std::move(joined.net);
    return;
  }
  auto arena = standing_.arena.empty() ? transport::shm::Arena::create(standing_.ranks)
                                       : transport::shm::fetch_arena(standing_.arena, kPatience);
  net_ = std::make_unique<transport::ShmTransport>(loop_, std::move(arena), standing_.rank, standing_.link);
}

Membership::~Membership() = default;

}  // namespace starling::session
