#include "starling/coordination/generator_channel.h"

#include <algorithm>

#include "starling/core/error.h"

namespace starling::coordination {

using runtime::Task;

Task<> GeneratorChannel::listen() {
  try {
    for (;;) {
      const transport::Letter letter = co_await net_.recv_any(tags_.to_worker, transport::Idle::kYes);
      const GroupMessage note = message_from(letter.bytes);
      if (note.epoch < epoch_) continue;
      if (note.verb == GroupMessage::Verb::kCensus) {
        epoch_ = note.epoch;
        generator_ = letter.from;
        told_lost_ = note.group.members;
      }
      handle(note);
      news_.pulse();
    }
  } catch (const PeerLost&) {
    alone_ = true;
    news_.pulse();
  }
}

// A lost generator is succeeded by the next living one, which asks for what it has not been told.
Rank GeneratorChannel::generator() const {
  Rank rank = generator_;
  while (rank + 1 < workers_ && net_.lost(rank)) ++rank;
  return rank;
}

void GeneratorChannel::tell(GroupMessage note) {
  note.epoch = epoch_;
  sender_.send(generator(), tags_.to_generator, to_bytes(note));
}

bool GeneratorChannel::told_lost(Rank rank) const {
  return std::find(told_lost_.begin(), told_lost_.end(), rank) != told_lost_.end();
}

bool GeneratorChannel::any_lost(const Group& group) const {
  return std::any_of(group.begin(), group.end(), [&](Rank rank) { return lost(rank); });
}

}  // namespace starling::coordination
