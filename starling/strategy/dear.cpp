#include "starling/strategy/dear.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "starling/collective/direct.h"
#include "starling/collective/halving.h"
#include "starling/collective/hierarchical.h"
#include "starling/collective/select.h"
#include "starling/strategy/schedule/schedule_options.h"

namespace starling::strategy {

namespace {

using collective::Buckets;
using record::Detail;

// Transfers are numbered by urgency: the reduce-scatters in the order of the buckets, which is that of the
// backward pass, then the all-gathers in that of the forward pass.
class DearSchedule final : public BucketSchedule {
 public:
  DearSchedule(Worker& self, const TransferOptions& setting, bool weights, std::size_t edge,
               std::size_t front, const runtime::Context& context)
      : BucketSchedule(self, setting, TransferScheduler::Order::kLeader,
                       weights ? Update::kElsewhere : Update::kBySection, context),
        weights_(weights),
        edge_(edge),
        front_(front),
        optimizer_(weights ? &self.flat_optimizer() : nullptr) {}

  // Every worker has the whole state of the optimiser afterwards. Nothing may be under way.
  Task<> gather_state();

 private:
  Buckets plan(std::size_t threshold) override;
  std::size_t jobs() const override {
    const std::size_t count = buckets().size();
    return 2 * count - (count > 0 && whole(count - 1) ? 1 : 0);
  }
  std::uint64_t kind() const override { return weights_ ? 1 : 2; }
  Task<> leave_plan() override { return gather_state(); }

  void opened() override { reduced_ = 0; }
  void filled(std::size_t bucket) override { transfers().offer(bucket); }
  Transfer transfer(std::size_t job, Tag tag) override;
  void transferred(std::size_t job) override;
  Transfer reduce(std::size_t bucket, Tag tag);
  Transfer gather(std::size_t bucket, Tag tag);
  void reduced(std::size_t bucket);
  void pass_on(std::size_t bucket);
  bool whole(std::size_t bucket) const;

  bool clips() { return weights_ && self().clip_norm() > 0; }
  Task<> update_clipped();
  void advance();
  void update(std::size_t bucket);
  Slice own(std::size_t bucket);

  bool weights_;
  std::size_t edge_;   // elements
  std::size_t front_;  // elements; of the foremost sections that are all-reduced at once
  optim::Optimizer* optimizer_;
  std::size_t reduced_ = 0;  // buckets of this round
};

// Nothing hides the exchange of the foremost sections: the backward pass is over, and the forward pass waits
// for them. So they go alone where start-ups are most of what they cost, as one all-reduce instead of two
// halves.
Buckets DearSchedule::plan(std::size_t threshold) {
  Buckets buckets = collective::taper_buckets(places(), threshold, edge_);
  if (front_ > 0) collective::split_front(buckets, places(), front_);
  return buckets;
}

// Whether the bucket is all-reduced: there is no other transfer for it then.
bool DearSchedule::whole(std::size_t bucket) const {
  return front_ > 0 && bucket + 1 == buckets().size() && buckets()[bucket].elements.size() <= front_;
}

BucketSchedule::Transfer DearSchedule::transfer(std::size_t job, Tag tag) {
  return job < buckets().size() ? reduce(job, tag) : gather(jobs() - 1 - job, tag);
}

void DearSchedule::transferred(std::size_t job) {
  job < buckets().size() ? reduced(job) : arrive(jobs() - 1 - job);
}

BucketSchedule::Transfer DearSchedule::reduce(std::size_t bucket, Tag tag) {
  const Slice part = buckets()[bucket].elements;
  const Data data = self().gradients().part(part.begin, part.end);
  const Slice sections = buckets()[bucket].sections;
  if (whole(bucket)) {
    return {Detail::Kind::kAllReduce, sections,
            collective::all_reduce(self().net(), everyone(), data, how(), tag)};
  }
  return {Detail::Kind::kReduceScatter, sections,
          collective::reduce_scatter(self().net(), everyone(), data, how(), tag, setting().algorithm)};
}

BucketSchedule::Transfer DearSchedule::gather(std::size_t bucket, Tag tag) {
  const Slice part = buckets()[bucket].elements;
  const Data data = (weights_ ? self().parameters() : self().gradients()).part(part.begin, part.end);
  return {Detail::Kind::kAllGather, buckets()[bucket].sections,
          collective::all_gather(self().net(), everyone(), data, tag, setting().algorithm)};
}

void DearSchedule::reduced(std::size_t bucket) {
  ++reduced_;
  if (clips()) {
    if (reduced_ == buckets().size()) transfers().beside(update_clipped(), "the norm of the gradient");
    return;
  }
  if (weights_) {
    if (reduced_ == 1) advance();
    update(bucket);
  }
  pass_on(bucket);
}

void DearSchedule::pass_on(std::size_t bucket) {
  if (whole(bucket)) return arrive(bucket);
  transfers().offer(jobs() - 1 - bucket);
}

// The norm is that of all gradients, so no bucket can be updated before the last one is reduced.
Task<> DearSchedule::update_clipped() {
  double squares = 0;
  for (std::size_t b = 0; b < buckets().size() && !self().gradients().ghost(); ++b) {
    const Slice slice = own(b);
    const double norm = optim::norm_of(floats(self().gradients()).subspan(slice.begin, slice.size()));
    squares += norm * norm;
  }
  const Data sum{std::span<double>(&squares, 1)};
  co_await collective::all_reduce(self().net(), everyone(), sum, collective::Reduction::sum(),
                                  transfers().next_tag());
  advance();
  optimizer_->scale_gradients(optim::clip_scale(self().clip_norm(), std::sqrt(squares)));
  for (std::size_t b = 0; b < buckets().size(); ++b) {
    update(b);
    pass_on(b);
  }
}

void DearSchedule::advance() {
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

// The slice of the bucket that this worker reduces.
Slice DearSchedule::own(std::size_t bucket) {
  const Slice part = buckets()[bucket].elements;
  const std::size_t index = collective::index_in(everyone(), self().rank());
  const Slice slice = slice_of(part.size(), everyone().size(), index);
  return {part.begin + slice.begin, part.begin + slice.end};
}

Task<> DearSchedule::gather_state() {
  if (!weights_ || self().parameters().ghost()) co_return;
  for (const std::span<float> vector : optimizer_->state()) {
    for (const collective::Bucket& bucket : buckets()) {
      const Data part{vector.subspan(bucket.elements.begin, bucket.elements.size())};
      co_await collective::all_gather(self().net(), everyone(), part, transfers().next_tag(),
                                      setting().algorithm);
    }
  }
}

// Whether workers that share a host would share its link in an exchange with workers elsewhere.
bool share_links(const Worker& self) {
  std::set<int> hosts;
  for (Rank rank = 0; rank < self.workers(); ++rank) hosts.insert(self.host_of(rank));
  return hosts.size() > 1 && hosts.size() < static_cast<std::size_t>(self.workers());
}

// Both halves use the algorithm that sends least, whatever the size of the bucket. Where workers share
// links, two levels cross them least, and the ring, for which they need not stand together, once a step.
// Elsewhere halving has fewer steps.
collective::Choice halves_for(Worker& self) {
  using collective::Algorithm;
  const collective::SharedGroup everyone = self.everyone();
  if (collective::direct_possible(self.net(), everyone)) return Algorithm::kDirect;
  if (!share_links(self))
    return collective::halving_splits(everyone.size()) ? Algorithm::kHalving : Algorithm::kRing;
  const bool two_levels = collective::hierarchical_halves_possible(self.net(), everyone);
  return two_levels ? Algorithm::kHierarchical : Algorithm::kRing;
}

Dear::Gather gather_of(const Options& options) {
  const std::string& name = options.text("gather");
  if (name == "weights") return Dear::Gather::kWeights;
  return name == "gradients" ? Dear::Gather::kGradients : Dear::Gather::kAuto;
}

}  // namespace

Dear::Dear(const Options& options, int)
    : gather_(gather_of(options)), edge_(*options.size("edge")), front_(*options.size("front")) {
  schedule_.window = static_cast<int>(options.integer("window"));
  if (options.text("algorithm") != "auto") {
    schedule_.algorithm = collective::parse_algorithm(options.text("algorithm"), "algorithm");
  }
  schedule_.fusion = fusion_of(options, kDearFusion);
}

Task<> Dear::run(Worker& self) const {
  const runtime::Context& context = co_await runtime::this_context();
  const bool weights = gather_ == Gather::kWeights || (gather_ == Gather::kAuto && self.has_flat_optimizer());
  BucketSchedule::TransferOptions setting = schedule_;
  std::size_t front = 0;
  if (!setting.algorithm) {
    setting.algorithm = halves_for(self);
    if (setting.algorithm != collective::Algorithm::kDirect) front = front_ / sizeof(float);
  }
  const std::size_t edge = std::max<std::size_t>(1, edge_ / sizeof(float));
  DearSchedule schedule(self, setting, weights, edge, front, context);
  StepPlan plan;
  plan.listener = &schedule;
  while (co_await self.compute(plan)) {
    if (!self.rests_next()) continue;
    co_await schedule.settle();  // a checkpoint has to hold the state of the optimiser
    co_await schedule.gather_state();
  }
  co_await schedule.settle();
}

StrategyEntry dear_row() {
  return {
      .name = "dear",
      .summary =
          "synchronous SGD: gradients are reduce-scattered during backward, gathered during the next forward",
      .options = {OptionSpec::choice("algorithm", {"auto", "ring", "halving", "hierarchical"},
                                     "of both halves; auto: direct on shared memory, hierarchical where "
                                     "workers share hosts, halving where they are a power of two, else ring"),
                  fusion_option("largest size of a bucket; default: 25m; auto: tuned while training"),
                  OptionSpec::size_of("edge", "256k", "size of the buckets at both ends of the model"),
                  OptionSpec::size_of("front", "32k",
                                      "the foremost sections up to this size are all-reduced at once; not on "
                                      "shared memory or with an algorithm"),
                  window_option(),
                  OptionSpec::choice(
                      "gather", {"auto", "weights", "gradients"},
                      "weights: each worker updates its slice; gradients: each updates all; auto: "
                      "weights if the optimiser can be cut in slices")},
      .promises = {.on_loss = OnLoss::kEnds,
                   .conserves_mean = false,
                   .staleness = "0",
                   .waits_for = "the slowest worker, every step",
                   .bytes = "2 M (n-1)/n, log2 n times the size of the front; rank 0 also 8 (n-1) for each "
                            "transfer"},
      .make = make<Dear>,
      .bytes_sent = [](const Options&, const Shape&, Rank) -> std::optional<std::uint64_t> { return {}; },
      .equal_models = [](const Options&) { return true; },
      .variants = {{},
                   {{"algorithm", "ring"}, {"fusion", "1k"}, {"edge", "64"}},
                   {{"fusion", "256"}, {"edge", "16"}, {"window", "3"}},
                   {{"gather", "gradients"}, {"fusion", "256"}, {"edge", "16"}, {"front", "1"}},
                   {{"algorithm", "hierarchical"}, {"fusion", "256"}, {"edge", "16"}},
                   {{"fusion", "256"}, {"edge", "16"}, {"front", "64"}},
                   {{"fusion", "auto"}}},
  };
}

}  // namespace starling::strategy
