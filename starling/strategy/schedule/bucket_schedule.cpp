#include "starling/strategy/schedule/bucket_schedule.h"

#include <algorithm>
#include <utility>

#include "starling/core/error.h"
#include "starling/strategy/schedule/bucket_plan_check.h"

namespace starling::strategy {

using collective::Buckets;
using record::Activity;

BucketSchedule::BucketSchedule(Worker& self, AgreedExchange& agreed, const TransferOptions& setting,
                               TransferScheduler::Order order, Update update, const runtime::Context& context)
    : self_(self),
      agreed_(agreed),
      setting_(setting),
      update_(update),
      buckets_of_(self.sections().size()),
      updated_(self.sections().size(), true),
      fusion_(self, agreed, setting.fusion),
      transfers_(
          self, agreed, order, setting.window,
          [this](std::size_t job, const ExchangeTerms& terms, Tag tag) {
            return run_transfer(job, terms, tag);
          },
          context) {}

std::vector<Slice> BucketSchedule::places() const {
  std::vector<Slice> places;
  for (const Section& section : self_.sections()) {
    places.push_back({section.offset, section.offset + section.count});
  }
  return places;
}

void BucketSchedule::set_plan(Buckets buckets) {
  buckets_ = std::move(buckets);
  std::fill(buckets_of_.begin(), buckets_of_.end(), Slice{});
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (std::size_t s = buckets_[b].sections.begin; s < buckets_[b].sections.end; ++s) {
      if (buckets_of_[s].empty()) buckets_of_[s] = {b, b};
      buckets_of_[s].end = b + 1;
    }
  }
}

// While a round waits for its plan, the parts are not known yet.
std::size_t BucketSchedule::part_of(std::size_t section) const {
  return opening_ ? buckets_.size() + section : buckets_of_[section].begin;
}

void BucketSchedule::begins() {
  fresh_ = true;
  fusion_.step_begins();
}

void BucketSchedule::gradient_ready(std::size_t section) {
  ready_.push_back(section);
  if (std::exchange(fresh_, false)) open();
  if (self_.skipped()) how_ = over_samples(self_);  // for the transfers that have not begun
  if (!opening_) take();
}

// The listener lets all sections through before the first gradient is ready, so no transfer is in progress.
void BucketSchedule::open() {
  round_ = self_.step();
  how_ = over_samples(self_);
  learning_rate_ = self_.learning_rate();
  if (plan_agreed_ && !may_replan()) return start();
  opening_ = true;
  transfers_.beside(prepare(), "the plan of the buckets");
}

Task<> BucketSchedule::prepare() {
  Buckets next = co_await replan();
  if (!plan_agreed_ || next != buckets_) {
    if (plan_agreed_) co_await leave_plan();
    set_plan(std::move(next));
    co_await agree();
  }
  start();
  take();
}

Task<Buckets> BucketSchedule::replan() {
  const std::uint64_t bytes = co_await fusion_.agreed();
  co_return plan(std::max<std::size_t>(1, static_cast<std::size_t>(bytes) / sizeof(float)));
}

Task<> BucketSchedule::leave_plan() { co_return; }

// A worker that sums in another way, or expects changes where others do not, would not match the others
// either.
Task<> BucketSchedule::agree() {
  const std::uint64_t algorithm =
      setting_.algorithm ? 1 + static_cast<std::uint64_t>(*setting_.algorithm) : 0;
  const std::uint64_t all = (kind() * 8 + algorithm) * 2 + (fusion_.tuned() ? 1 : 0);
  co_await agreed_.in_order({}, [this, all](const ExchangeTerms& terms, Tag tag) {
    return agree_on_plan(self_, terms.group, buckets_, all, tag);
  });
  plan_agreed_ = true;
}

void BucketSchedule::start() {
  missing_.clear();
  for (const collective::Bucket& bucket : buckets_) missing_.push_back(bucket.sections.size());
  arrived_.assign(buckets_.size(), false);
  if (update_ == Update::kBySection) updated_.assign(updated_.size(), false);
  opening_ = false;
  transfers_.begin(jobs());
  opened();
}

void BucketSchedule::take() {
  for (const std::size_t section : std::exchange(ready_, {})) {
    for (std::size_t b = buckets_of_[section].begin; b < buckets_of_[section].end; ++b) {
      if (--missing_[b] == 0) filled(b);
    }
  }
}

Task<bool> BucketSchedule::run_transfer(std::size_t job, const ExchangeTerms& terms, Tag tag) {
  const Transfer transfer = this->transfer(job);
  const auto work = [&](const ExchangeTerms& now) { return exchange(transfer, now, tag); };
  const bool done = co_await agreed_.attempt(terms, lane_of(job), round_, transfer.result, work);
  if (done) transferred(job);
  co_return done;
}

Task<> BucketSchedule::exchange(const Transfer& transfer, const ExchangeTerms& terms, Tag tag) {
  const std::uint64_t meeting = meeting_of(terms.group, tag);
  {
    Stopwatch watch(self_, Activity::kMeet, record::kNobody, meeting);
    watch.in_background().about({transfer.kind, static_cast<std::uint32_t>(round_),
                                 static_cast<std::uint32_t>(transfer.sections.begin),
                                 static_cast<std::uint32_t>(transfer.sections.end)});
    Task<> work = transfer.work(terms, tag);
    co_await work;
  }
  meeting_ = meeting;
}

BucketSchedule::Transfer BucketSchedule::average(Slice elements, Slice sections,
                                                 collective::Choice algorithm) {
  const Data gradients = self_.gradients().part(elements.begin, elements.end);
  return {record::Detail::Kind::kAllReduce, sections, gradients,
          [this, gradients, algorithm](const ExchangeTerms& terms, Tag tag) {
            return collective::all_reduce(self_.net(), terms.group, gradients, how_, tag, algorithm);
          }};
}

void BucketSchedule::arrive(std::size_t bucket) { arrived_[bucket] = true; }

// If gradients are clipped, no section can be updated before all gradients have arrived.
bool BucketSchedule::here(std::size_t section) const {
  if (opening_) return false;
  const bool all = update_ == Update::kBySection && self_.clip_norm() > 0;
  const Slice needed = all ? Slice{0, buckets_.size()} : buckets_of_[section];
  for (std::size_t b = needed.begin; b < needed.end; ++b) {
    if (!arrived_[b]) return false;
  }
  return true;
}

// The time is noted as waiting in the meeting that ended it.
Task<> BucketSchedule::wait_for(std::size_t section) {
  Time since = self_.now();
  for (transfers_.check(); !here(section); transfers_.check()) {
    co_await transfers_.news();
    self_.journal().add(
        {.activity = Activity::kMeet, .meeting = meeting_, .begin = since, .end = self_.now()});
    since = self_.now();
  }
}

Task<> BucketSchedule::before_forward(std::size_t section) {
  co_await wait_for(section);
  if (updated_[section]) co_return;
  updated_[section] = true;
  const Section& place = self_.sections()[section];
  const Slice part{place.offset, place.offset + place.count};
  co_await self_.update(part, round_);
}

Task<> BucketSchedule::settle() {
  for (std::size_t section = 0; section < updated_.size(); ++section) co_await before_forward(section);
}

}  // namespace starling::strategy
