#include "starling/strategy/schedule/dear_schedule.h"

#include <algorithm>
#include <cmath>

namespace starling::strategy {

using collective::Buckets;
using record::Detail;

// Nothing hides the exchange of the foremost sections: the backward pass is over, and the forward pass waits
// for them. So they go alone where start-ups are most of what they cost, as one all-reduce instead of two
// halves.
Buckets DearSchedule::plan(std::size_t threshold) {
  Buckets buckets = collective::taper_buckets(places(), threshold, edge_);
  if (front_ > 0) collective::split_front(buckets, places(), front_);
  return buckets;
}

// Whether the bucket is all-reduced: there is no other transfer for it then.
bool DearSchedule::whole(const Buckets& plan, std::size_t bucket) const {
  return front_ > 0 && bucket + 1 == plan.size() && plan[bucket].elements.size() <= front_;
}

BucketSchedule::Transfer DearSchedule::transfer(std::size_t job) {
  return job < buckets().size() ? reduce(job) : gather(jobs() - 1 - job);
}

void DearSchedule::transferred(std::size_t job) {
  job < buckets().size() ? reduced(job) : arrive(jobs() - 1 - job);
}

BucketSchedule::Transfer DearSchedule::reduce(std::size_t bucket) {
  const Slice part = buckets()[bucket].elements;
  if (whole(bucket)) return average(part, buckets()[bucket].sections, {});
  const Data data = self().gradients().part(part.begin, part.end);
  return {Detail::Kind::kReduceScatter, buckets()[bucket].sections, std::nullopt,
          [this, data](const ExchangeTerms& terms, Tag tag) {
            return collective::reduce_scatter(self().net(), terms.group, data, how(), tag,
                                              setting().algorithm);
          }};
}

BucketSchedule::Transfer DearSchedule::gather(std::size_t bucket) {
  const Slice part = buckets()[bucket].elements;
  const Data data = (weights_ ? self().parameters() : self().gradients()).part(part.begin, part.end);
  return {Detail::Kind::kAllGather, buckets()[bucket].sections, data,
          [this, data](const ExchangeTerms& terms, Tag tag) {
            return collective::all_gather(self().net(), terms.group, data, tag, setting().algorithm);
          }};
}

void DearSchedule::opened() {
  reduced_.assign(buckets().size(), false);
  recovered_.assign(buckets().size(), false);
  advanced_ = false;
  squares_begun_ = false;
  squares_.reset();
  if (plans_ > 0 && plan_in_use_ == buckets()) return;
  ++plans_;
  plan_in_use_ = buckets();
}

void DearSchedule::reduced(std::size_t bucket) {
  reduced_[bucket] = true;
  if (needs_squares()) return find_squares_if_all_reduced();
  if (weights_) {
    if (!advanced_) advance();
    update(bucket);
  }
  pass_on(bucket);
}

void DearSchedule::find_squares_if_all_reduced() {
  if (squares_begun_ || std::find(reduced_.begin(), reduced_.end(), false) != reduced_.end()) return;
  squares_begun_ = true;
  transfers().beside(update_by_squares(), "the norms for the update");
}

void DearSchedule::pass_on(std::size_t bucket) {
  if (whole(bucket)) return arrive(bucket);
  transfers().offer(jobs() - 1 - bucket);
}

// A norm is that of all gradients or of whole tensors, so no bucket can be updated before the last one is
// reduced. Clipped gradients are scaled before the norms of tensors are found.
Task<> DearSchedule::update_by_squares() {
  Squares squares;
  co_await sum_up_gradient(squares);
  if (!advanced_) advance();
  scale_gradients(squares);
  co_await sum_up_tensors(squares);
  optimizer_->set_squares(squares.tensors);
  squares_ = squares;
  for (std::size_t b = 0; b < buckets().size(); ++b) {
    if (recovered_[b]) continue;
    update(b);
    pass_on(b);
  }
}

Task<> DearSchedule::sum_up_gradient(Squares& squares) {
  if (!(self().clip_norm() > 0)) co_return;
  const Data sum{std::span<double>(&squares.gradient, 1)};
  co_await agreed().in_order(sum, [&](const ExchangeTerms& terms, Tag tag) {
    squares.gradient = own_squares();
    return collective::all_reduce(self().net(), terms.group, sum, collective::Reduction::sum(), tag);
  });
}

Task<> DearSchedule::sum_up_tensors(Squares& squares) {
  squares.tensors.resize(optimizer_->squares());
  if (squares.tensors.empty()) co_return;
  const Data sums{std::span<double>(squares.tensors)};
  co_await agreed().in_order(sums, [&](const ExchangeTerms& terms, Tag tag) {
    add_own_squares(squares.tensors);
    return collective::all_reduce(self().net(), terms.group, sums, collective::Reduction::sum(), tag);
  });
}

double DearSchedule::own_squares() {
  double squares = 0;
  for (std::size_t b = 0; b < buckets().size() && !self().gradients().ghost(); ++b) {
    const Slice slice = own(b);
    const double norm = optim::norm_of(floats(self().gradients()).subspan(slice.begin, slice.size()));
    squares += norm * norm;
  }
  return squares;
}

void DearSchedule::add_own_squares(std::span<double> sums) {
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::size_t b = 0; b < buckets().size() && !self().gradients().ghost(); ++b) {
    optimizer_->add_squares(own(b), floats(self().parameters()), floats(self().gradients()), sums);
  }
}

void DearSchedule::scale_gradients(const Squares& squares) {
  if (!(self().clip_norm() > 0)) return;
  optimizer_->scale_gradients(optim::clip_scale(self().clip_norm(), std::sqrt(squares.gradient)));
}

// As another worker has done, which had the sums before the loss of a third.
void DearSchedule::advance_by(const Squares& squares) {
  if (!advanced_) advance();
  if (!needs_squares()) return;
  scale_gradients(squares);
  optimizer_->set_squares(squares.tensors);
}

void DearSchedule::advance() {
  advanced_ = true;
  optimizer_->set_learning_rate(learning_rate());
  optimizer_->advance();
}

void DearSchedule::update(std::size_t bucket) {
  if (self().parameters().ghost()) return;
  Stopwatch watch(self(), record::Activity::kUpdate);
  watch.in_background();
  const Slice slice = whole(bucket) ? buckets()[bucket].elements : own(bucket);
  optimizer_->apply(slice, floats(self().parameters()), floats(self().gradients()));
}

// The slice of the part that the owner at this place of the partition reduces.
Slice DearSchedule::slice(Slice part, std::size_t owner) const {
  const Slice slice = slice_of(part.size(), partition_.size(), owner);
  return {part.begin + slice.begin, part.begin + slice.end};
}

Task<> DearSchedule::gather_state() {
  if (!weights_ || self().parameters().ghost()) co_return;
  for (const std::span<float> vector : optimizer_->state()) {
    for (const collective::Bucket& bucket : buckets()) {
      const Data part{vector.subspan(bucket.elements.begin, bucket.elements.size())};
      co_await agreed().in_order(part, [&](const ExchangeTerms& terms, Tag tag) {
        return collective::all_gather(self().net(), terms.group, part, tag, setting().algorithm);
      });
    }
  }
}

}  // namespace starling::strategy
