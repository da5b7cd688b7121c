#include "starling/record/rank_times.h"

#include <algorithm>

namespace starling::record {

void RankTimes::add(const RankTimes& other) {
  computing += other.computing;
  updating += other.updating;
  waiting += other.waiting;
  transferring += other.transferring;
  serving += other.serving;
  coding += other.coding;
  unattributed += other.unattributed;
  for (const WaitedFor& item : other.waited_for) {
    const auto place =
        std::lower_bound(waited_for.begin(), waited_for.end(), item,
                         [](const WaitedFor& a, const WaitedFor& b) { return a.whom < b.whom; });
    if (place != waited_for.end() && place->whom == item.whom) {
      place->time += item.time;
    } else {
      waited_for.insert(place, item);
    }
  }
}

}  // namespace starling::record
