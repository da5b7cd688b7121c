#include "starling/session/background/model_equality_check.h"

#include <algorithm>
#include <utility>

#include "starling/core/error.h"
#include "starling/core/hash.h"
#include "starling/session/background/coordinator.h"

namespace starling::session {

using runtime::Task;
using Kind = ControlChannel::Kind;

ModelEqualityCheck::ModelEqualityCheck(RealWorker& worker, ControlChannel& control, std::uint64_t every)
    : worker_(worker), control_(control), every_(every) {
  if (every == 0) return;
  control_.on(Kind::kModelHashes, [this](Rank from, const Bytes& bytes) {
    ModelHashes hashes = model_hashes_from(bytes, from);
    if (hashes.step <= last_.step) return control_.send(from, Kind::kModelComparison, to_bytes(last_));
    said_[from] = std::move(hashes);
    news_.pulse();
  });
  control_.on(Kind::kModelComparison, [this](Rank from, const Bytes& bytes) {
    ModelComparison comparison = model_comparison_from(bytes, from);
    if (comparison.step > last_.step) last_ = std::move(comparison);
    news_.pulse();
  });
  control_.on_loss([this] { news_.pulse(); });
}

std::vector<std::uint64_t> ModelEqualityCheck::own_hashes() const {
  const strategy::Data model = worker_.parameters();
  std::vector<std::uint64_t> hashes;
  for (const strategy::Section& section : worker_.sections()) {
    hashes.push_back(hash_of(model.part(section.offset, section.offset + section.count).span()));
  }
  return hashes;
}

Task<bool> ModelEqualityCheck::before_step(std::uint64_t step) {
  const std::uint64_t done = step - 1;
  if (every_ == 0 || done == 0 || done % every_ != 0) co_return true;
  co_await worker_.settle();
  const ModelHashes& own = said_[worker_.rank()] = {done, own_hashes()};
  Rank sent_to = worker_.rank();
  while (last_.step < done) {
    const Rank coordinator = coordinator_of(worker_.net());
    if (coordinator == worker_.rank()) {
      co_await compare(done);
      continue;
    }
    if (coordinator != sent_to) control_.send(coordinator, Kind::kModelHashes, to_bytes(own));
    sent_to = coordinator;
    news_.rename(concat("rank ", coordinator, " to compare the models after step ", done));
    co_await news_;
  }
  if (!last_.difference.empty()) throw Error(last_.difference);
  co_return true;
}

bool ModelEqualityCheck::has_said(Rank rank, std::uint64_t step) const {
  const auto found = said_.find(rank);
  return found != said_.end() && found->second.step == step;
}

// A worker that leaves because of a difference is lost to the others, so it does not before they are told.
Task<> ModelEqualityCheck::compare(std::uint64_t step) {
  for (Rank rank = 0; rank < worker_.workers(); ++rank) {
    while (!has_said(rank, step) && !worker_.lost(rank)) {
      news_.rename(concat("rank ", rank, " to make step ", step, ", for the models to be compared"));
      co_await news_;
    }
  }
  last_ = {step, first_difference(step)};
  for (Rank rank = 0; rank < worker_.workers(); ++rank) {
    if (rank != worker_.rank()) co_await control_.deliver(rank, Kind::kModelComparison, to_bytes(last_));
  }
}

// Empty: there is none. Workers that were lost before have said nothing about this step.
std::string ModelEqualityCheck::first_difference(std::uint64_t step) const {
  const auto is_of_step = [step](const auto& said) { return said.second.step == step; };
  const auto lowest = std::ranges::find_if(said_, is_of_step);
  for (const auto& [rank, own] : said_) {
    if (own.step != step || own.hashes == lowest->second.hashes) continue;
    const auto at = std::ranges::mismatch(own.hashes, lowest->second.hashes).in1 - own.hashes.begin();
    const auto section = static_cast<std::size_t>(at);
    return concat("after step ", step, " the models differ: section ", section, " (",
                  worker_.sections().at(section).name, ") of rank ", rank, " is not that of rank ",
                  lowest->first);
  }
  return {};
}

}  // namespace starling::session
