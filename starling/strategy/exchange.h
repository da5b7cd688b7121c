// What strategies do with others, noted in the journal: who waited for whom is found from these notes.
#pragma once

#include <cstdint>

#include "starling/strategy/worker.h"

namespace starling::strategy {

// Tags of the strategies: which conversation, and its round. A round's tag is used once between the same
// ranks, so what is left over from an exchange that failed meets nobody.
enum class Channel : std::uint8_t { kGradients = 1, kModel, kLoss, kPush, kPull, kEnter, kLeave };
Tag tag_of(Channel channel, std::uint64_t round = 0);

// Notes how long something took, when it goes out of scope.
class Stopwatch {
 public:
  Stopwatch(Member& self, record::Activity activity, Rank whom = record::kNobody, std::uint64_t meeting = 0);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  // What is timed goes on while the worker computes: it is nobody's waiting.
  Stopwatch& in_background();

 private:
  Member& self_;
  record::Span span_;
};

// A collective of the group, noted as a meeting.
Task<> all_reduce(Member& self, collective::SharedGroup group, Data data, collective::Reduction how, Tag tag,
                  collective::Choice choice = {});

// The group's models become their mean, weighted if `how` says so.
Task<> average_models(Worker& self, collective::SharedGroup group, std::uint64_t round,
                      collective::Choice choice = {},
                      collective::Reduction how = collective::Reduction::mean());

// The group's gradients become their mean over all samples.
Task<> average_gradients(Worker& self, collective::SharedGroup group, std::uint64_t round,
                         collective::Choice choice = {});

// A message, noted as a wait for its sender.
Task<> receive(Member& self, Rank from, Tag tag, Data data);

}  // namespace starling::strategy
