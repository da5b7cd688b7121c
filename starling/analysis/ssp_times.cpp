#include "starling/analysis/ssp_times.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "starling/analysis/barrier_times.h"
#include "starling/analysis/draw_sums.h"

namespace starling::analysis {

namespace {

constexpr std::size_t kMostStates = 50'000;
constexpr int kLongestSum = 64;  // of the factors in the lower bound

// How many workers are 0 to s steps ahead of the slowest.
using Occupancy = std::vector<int>;

// The occupancies that are reached, and from each those that follow.
class SspChain {
 public:
  SspChain(int workers, int staleness) : workers_(workers) {
    Occupancy first(static_cast<std::size_t>(staleness) + 1);
    first[0] = workers;
    number_of(first);
    for (std::size_t at = 0; at < states_.size() && states_.size() <= kMostStates; ++at) add_moves(at);
  }

  bool too_large() const { return states_.size() > kMostStates; }

  // Workers that compute, on average over time, by repeating the chain at the pace of its fastest state.
  double computing() const {
    constexpr int kMostRounds = 100'000;
    std::vector<double> now(states_.size(), 1 / static_cast<double>(states_.size())), next;
    double before = 0;
    for (int round = 1; round <= kMostRounds; ++round) {
      next.assign(now.size(), 0);
      double sum = 0;
      for (std::size_t at = 0; at < now.size(); ++at) {
        const double share = now[at] / workers_;
        double leaving = 0;
        for (const Move& move : moves_[at]) {
          next[move.to] += share * move.rate;
          leaving += move.rate;
        }
        next[at] += now[at] - share * leaving;
        sum += now[at] * leaving;
      }
      now.swap(next);
      constexpr int kBetweenLooks = 64;
      if (round % kBetweenLooks != 0) continue;
      if (std::abs(sum - before) < 1e-11 * sum) return sum;
      before = sum;
    }
    return before;
  }

 private:
  struct Move {
    std::size_t to;
    int rate;
  };

  std::size_t number_of(const Occupancy& state) {
    const auto [entry, added] = numbers_.emplace(state, states_.size());
    if (added) states_.push_back(state);
    return entry->second;
  }

  // A worker finishes a step; if nobody is left behind, all are a step less ahead.
  void add_moves(std::size_t at) {
    std::vector<Move> moves;
    for (std::size_t ahead = 0; ahead + 1 < states_[at].size(); ++ahead) {
      Occupancy next = states_[at];
      const int rate = next[ahead];
      if (rate == 0) continue;
      --next[ahead];
      ++next[ahead + 1];
      if (next[0] == 0) std::rotate(next.begin(), next.begin() + 1, next.end());
      moves.push_back({number_of(next), rate});
    }
    moves_.push_back(std::move(moves));
  }

  int workers_;
  std::map<Occupancy, std::size_t> numbers_;
  std::vector<Occupancy> states_;
  std::vector<std::vector<Move>> moves_;
};

double lower_bound(const Crew& crew, int staleness) {
  const double mean = law_of(crew.jitter).mean();
  double best = mean * *std::max_element(crew.seconds.begin(), crew.seconds.end());
  const DrawSums sums(crew.jitter, kLongestSum);
  for (int count = 1; count <= kLongestSum; count = count < 4 ? count + 1 : count * 2) {
    const double last = mean_of_largest(teams_of(crew, sums.of(count)));
    best = std::max(best, last / (staleness + count - 1));
  }
  return best;
}

}  // namespace

std::optional<double> ssp_step_of_chain(int workers, int staleness) {
  const SspChain chain(workers, staleness);
  if (chain.too_large()) return {};
  return workers / chain.computing();
}

RunTimes ssp_times(const Crew& crew, int staleness) {
  Crew free = crew;
  free.comm_seconds = 0;
  if (staleness == 1) return sync_times(free);
  const bool equal = equal_workers(crew).size() == 1;
  if (crew.jitter.kind == cluster::Jitter::Kind::kExponential && equal) {
    if (const std::optional<double> unit = ssp_step_of_chain(crew.workers(), staleness)) {
      const double step = *unit * crew.seconds.front();
      return common_steps(free, {step, step});
    }
  }
  const double high = local_sgd_times(free, staleness).step.high;
  return common_steps(free, {std::min(high, lower_bound(crew, staleness)), high});
}

}  // namespace starling::analysis
