// Exchanges of strategies, noted in the journal: the wait analysis is based on these notes.
#pragma once

#include <cstdint>
#include <optional>

#include "starling/coordination/async_sender.h"
#include "starling/strategy/worker.h"

namespace starling::strategy {

// Tags of the strategies: the kind of exchange, and its round. A round's tag is used once between the same
// ranks, so messages left over from a failed exchange match nothing.
enum class Channel : std::uint8_t {
  kGradients = 1,
  kModel,
  kLoss,
  kPush,
  kPull,
  kEnter,
  kLeave,
  kTerms,
  kGroup,
  kToGenerator,
  kFromGenerator,
  kAsk,
  kGrant,
  kForth,
  kBack,
  kTransfer,
  kOrder,
  kFusion,
  kAgreed,
  kGive,
  kPace,
  kFinished,
  kPart,
  kCodes
};
Tag tag_of(Channel channel, std::uint64_t round = 0);
// The same in the view of this epoch, so that messages of an older one match nothing. The round has 40 bits.
Tag tag_in(std::uint64_t epoch, Channel channel, std::uint64_t round = 0);

// Notes how long something took, when it goes out of scope.
class Stopwatch {
 public:
  Stopwatch(Member& self, record::Activity activity, Rank whom = record::kNobody, std::uint64_t meeting = 0);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  // The timed activity runs while the worker computes: it does not count as waiting.
  Stopwatch& in_background();
  // The same until the computing is over; the rest is noted as if it had begun then. The time may be filled
  // in while the watch runs, and must outlive it.
  Stopwatch& in_background_until(const std::optional<Time>& computed);
  Stopwatch& about(const record::Detail& detail);
  // For a wait whose culprit is known at its end.
  void waited_for(Rank whom) { span_.whom = whom; }

 private:
  Member& self_;
  record::Span span_;
  const std::optional<Time>* computed_ = nullptr;
};

// A service, or code that answers for a worker, kept `whom` waiting until now because of another.
void note_hold(Member& self, Rank whom, Rank because, Time since);

// The number of a meeting, unique in a run: a rank is in one group per tag.
std::uint64_t meeting_of(const Group& group, Tag tag);

// A collective of the group, noted as a meeting.
Task<> all_reduce(Member& self, collective::SharedGroup group, Data data, collective::Reduction how, Tag tag,
                  collective::Choice choice = {});

// The same beside the computing; `computed` is the end of that, and may be filled in meanwhile.
Task<> all_reduce_beside(Member& self, const std::optional<Time>& computed, collective::SharedGroup group,
                         Data data, collective::Reduction how, Tag tag, collective::Choice choice = {});

// Sends a number to all others of the group.
void tell_others(Member& self, coordination::AsyncSender& sender, const Group& group, Tag tag,
                 std::uint64_t number);

// The weight of this worker's gradient in a mean over all samples: 1 if batches are equal, otherwise its
// samples; 0 if the step is skipped.
double weight_of_gradient(const Worker& self);
// The reduction by which gradients become their mean over all samples.
collective::Reduction over_samples(const Worker& self);

// The group's models become their mean, weighted if `how` says so. PeerLost if a member is lost;
// agreed_exchange.h has an exchange that goes on.
Task<> average_models(Worker& self, collective::SharedGroup group, std::uint64_t round,
                      collective::Choice choice = {},
                      collective::Reduction how = collective::Reduction::mean());

// A message, noted as a wait for its sender.
Task<> receive(Member& self, Rank from, Tag tag, Data data);

}  // namespace starling::strategy
