#include "starling/strategy/timed_exchange.h"

#include <algorithm>

namespace starling::strategy {

using collective::Choice;
using collective::Reduction;
using collective::SharedGroup;
using record::Activity;

Tag tag_of(Channel channel, std::uint64_t round) { return (static_cast<Tag>(channel) << 56) | round; }

Tag tag_in(std::uint64_t epoch, Channel channel, std::uint64_t round) {
  constexpr int kRoundBits = 40;
  const std::uint64_t in_round = round & ((std::uint64_t{1} << kRoundBits) - 1);
  return tag_of(channel, ((epoch - 1) & 0xffff) << kRoundBits | in_round);
}

Stopwatch::Stopwatch(Member& self, Activity activity, Rank whom, std::uint64_t meeting) : self_(self) {
  span_.activity = activity;
  span_.whom = whom;
  span_.meeting = meeting;
  span_.begin = self.now();
}

Stopwatch::~Stopwatch() {
  const Time now = self_.now();
  span_.end = now;
  if (computed_ != nullptr && *computed_) span_.end = std::clamp(**computed_, span_.begin, now);
  self_.journal().add(span_);
  if (span_.end == now) return;
  span_.background = false;
  span_.begin = span_.end;
  span_.end = now;
  self_.journal().add(span_);
}

Stopwatch& Stopwatch::in_background() {
  span_.background = true;
  return *this;
}

Stopwatch& Stopwatch::in_background_until(const std::optional<Time>& computed) {
  computed_ = &computed;
  return in_background();
}

Stopwatch& Stopwatch::about(const record::Detail& detail) {
  span_.detail = detail;
  return *this;
}

void note_hold(Member& self, Rank whom, Rank because, Time since) {
  self.journal().add(
      {.activity = Activity::kHold, .whom = whom, .because = because, .begin = since, .end = self.now()});
}

// A tag and a member of its group are enough.
std::uint64_t meeting_of(const Group& group, Tag tag) {
  const auto first = static_cast<std::uint64_t>(group.front()) + 1;
  return (tag ^ (first * 0x9e3779b97f4a7c15ULL)) * 0xbf58476d1ce4e5b9ULL | 1;
}

Task<> all_reduce(Member& self, SharedGroup group, Data data, Reduction how, Tag tag, Choice choice) {
  const Stopwatch watch(self, Activity::kMeet, record::kNobody, meeting_of(group, tag));
  co_await collective::all_reduce(self.net(), std::move(group), data, how, tag, choice);
}

Task<> all_reduce_beside(Member& self, const std::optional<Time>& computed, SharedGroup group, Data data,
                         Reduction how, Tag tag, Choice choice) {
  Stopwatch watch(self, Activity::kMeet, record::kNobody, meeting_of(group, tag));
  watch.in_background_until(computed);
  co_await collective::all_reduce(self.net(), std::move(group), data, how, tag, choice);
}

void tell_others(Member& self, coordination::AsyncSender& sender, const Group& group, Tag tag,
                 std::uint64_t number) {
  const std::span<const std::byte> bytes = bytes_of(number);
  for (const Rank rank : group) {
    if (rank != self.rank()) sender.send(rank, tag, {bytes.begin(), bytes.end()});
  }
}

double weight_of_gradient(const Worker& self) {
  if (self.skipped()) return 0;
  return self.equal_batches() ? 1 : static_cast<double>(self.samples());
}

// Weights of 1 give the bits of a plain mean. A worker without samples has a gradient of 0. Its weight is
// tiny instead of 0, so that there is a mean, which is 0, if no worker has any; beside a sample it vanishes
// in rounding.
Reduction over_samples(const Worker& self) {
  constexpr double kNone = 1e-30;
  if (self.equal_batches() && !self.skips_steps()) return Reduction::mean();
  return Reduction::weighted_mean(std::max(weight_of_gradient(self), kNone));
}

Task<> average_models(Worker& self, SharedGroup group, std::uint64_t round, Choice choice, Reduction how) {
  return all_reduce(self, std::move(group), self.parameters(), how, tag_of(Channel::kModel, round), choice);
}

Task<> receive(Member& self, Rank from, Tag tag, Data data) {
  const Stopwatch watch(self, Activity::kWait, from);
  co_await self.net().recv(from, tag, data.span());
}

}  // namespace starling::strategy
