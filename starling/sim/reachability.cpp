#include "starling/sim/reachability.h"

#include <algorithm>
#include <string>

#include "starling/core/text.h"
#include "starling/runtime/deadline.h"

namespace starling::sim {

using runtime::Task;

Reachability::Reachability(transport::InprocWorld& world, const std::vector<int>& host_of_rank,
                           Duration silence_limit, runtime::Scope& scope)
    : world_(world), host_of_rank_(host_of_rank), silence_limit_(silence_limit), scope_(scope) {}

void Reachability::cut(int host) {
  if (cut_off_[host]++ == 0) change_sides(host);
}

void Reachability::heal(int host) {
  if (--cut_off_[host] == 0) change_sides(host);
}

// Reaches those now that it did not reach before, and the other way round.
void Reachability::change_sides(int host) {
  const bool cut_off = cut_off_[host] > 0;
  for (Rank a = 0; a < world_.size(); ++a) {
    if (host_of(a) != host) continue;
    for (Rank b = 0; b < world_.size(); ++b) {
      if (host_of(b) == host) continue;
      const bool other_cut_off = cut_off_[host_of(b)] > 0;
      cut_off != other_cut_off ? part(a, b) : reunite(a, b);
    }
  }
}

void Reachability::stop(Rank rank) {
  stops_.insert(rank);
  for (Rank other = 0; other < world_.size(); ++other) {
    if (other != rank) part(rank, other);
  }
}

void Reachability::go_on(Rank rank) {
  stops_.erase(stops_.find(rank));
  for (Rank other = 0; other < world_.size(); ++other) {
    if (other != rank) reunite(rank, other);
  }
}

void Reachability::part(Rank a, Rank b) {
  const Pair pair = std::minmax(a, b);
  Gap& gap = gaps_[pair];
  if (gap.causes++ == 0) world_.part(a, b);
  if (gap.causes == 1) begin_silence(pair);
}

// Where one of several causes is over, a rank that stood still may have gone on, and begins to miss the
// others.
void Reachability::reunite(Rank a, Rank b) {
  const Pair pair = std::minmax(a, b);
  if (--gaps_[pair].causes > 0) return begin_silence(pair);
  ++gaps_[pair].count;
  world_.reunite(a, b);
}

void Reachability::begin_silence(const Pair& pair) {
  if (host_of(pair.first) == host_of(pair.second)) return;
  scope_.spawn(watch_silence(pair, ++gaps_[pair].count), "silence");
}

Task<> Reachability::watch_silence(Pair pair, std::uint64_t count) {
  co_await runtime::sleep_for(silence_limit_);
  if (gaps_[pair].count != count) co_return;
  const std::string why = concat("nothing was heard of it for ", format_duration(silence_limit_));
  for (const auto& [observer, rank] : {pair, Pair{pair.second, pair.first}}) {
    if (!stopped(observer)) world_.miss(observer, rank, why);
  }
}

}  // namespace starling::sim
