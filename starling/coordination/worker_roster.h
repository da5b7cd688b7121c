// The generator's view of the workers: which are present, which are in no group, how often each has asked.
#pragma once

#include <cstdint>
#include <vector>

#include "starling/core/types.h"

namespace starling::coordination {

// Ranks below a limit, with constant time for everything. Their order depends on nothing but the calls made.
class RankSet {
 public:
  explicit RankSet(int limit) : place_(static_cast<std::size_t>(limit), kOut) {}

  const Group& ranks() const { return ranks_; }
  bool has(Rank rank) const { return place_[static_cast<std::size_t>(rank)] != kOut; }

  void insert(Rank rank) {
    if (has(rank)) return;
    place_[static_cast<std::size_t>(rank)] = static_cast<int>(ranks_.size());
    ranks_.push_back(rank);
  }

  void erase(Rank rank) {
    if (!has(rank)) return;
    int& place = place_[static_cast<std::size_t>(rank)];
    const Rank last = ranks_.back();
    ranks_[static_cast<std::size_t>(place)] = last;
    place_[static_cast<std::size_t>(last)] = place;
    ranks_.pop_back();
    place = kOut;
  }

 private:
  static constexpr int kOut = -1;
  Group ranks_;
  std::vector<int> place_;
};

struct WorkerRoster {
  explicit WorkerRoster(std::vector<int> host_of_rank)
      : host_of(std::move(host_of_rank)),
        counts(host_of.size()),
        trainings(host_of.size()),
        present(static_cast<int>(host_of.size())),
        idle(static_cast<int>(host_of.size())) {}

  // A worker's training: since when, and how long it takes from one synchronisation to the next.
  struct Training {
    Time since{};
    Duration section{};  // 0: not known yet
  };

  std::uint64_t count(Rank rank) const { return counts[static_cast<std::size_t>(rank)]; }
  const Training& training(Rank rank) const { return trainings[static_cast<std::size_t>(rank)]; }
  int host(Rank rank) const { return host_of[static_cast<std::size_t>(rank)]; }

  std::vector<int> host_of;
  std::vector<std::uint64_t> counts;  // how often each has asked for a group
  std::vector<Training> trainings;
  RankSet present;  // alive, and have not left
  RankSet idle;     // of those: in no unfinished group
};

}  // namespace starling::coordination
