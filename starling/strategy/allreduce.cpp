#include "starling/strategy/allreduce.h"

#include "starling/collective/buckets.h"
#include "starling/collective/cost.h"
#include "starling/collective/select.h"
#include "starling/core/text.h"
#include "starling/runtime/scope.h"
#include "starling/strategy/exchange.h"

namespace starling::strategy {

namespace {

std::vector<collective::Bucket> buckets_of(const Worker& self, std::size_t bytes) {
  std::vector<Slice> places;
  for (const Section& section : self.sections()) {
    places.push_back({section.offset, section.offset + section.count});
  }
  return collective::cut_in_buckets(places, (bytes + sizeof(float) - 1) / sizeof(float));
}

// Averages the gradients of a step bucket by bucket. A bucket starts when its sections are ready and all
// before it have started, so that all ranks have the same order; then it goes on beside the computing and
// beside the others.
class Backward final : public StepListener {
 public:
  Backward(Worker& self, std::size_t bucket_bytes, collective::Choice algorithm,
           const runtime::Context& context)
      : self_(self),
        everyone_(self.everyone()),
        algorithm_(algorithm),
        buckets_(buckets_of(self, bucket_bytes)),
        bucket_of_(self.sections().size()),
        under_way_(context) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      for (std::size_t s = buckets_[i].sections.begin; s < buckets_[i].sections.end; ++s) bucket_of_[s] = i;
    }
  }

  void begins() override {
    missing_.clear();
    for (const collective::Bucket& bucket : buckets_) missing_.push_back(bucket.sections.size());
    started_ = 0;
    computed_.reset();
  }

  void gradient_ready(std::size_t section) override {
    --missing_[bucket_of_[section]];
    for (; started_ < buckets_.size() && missing_[started_] == 0; ++started_) {
      under_way_.spawn(average(started_), concat("bucket ", started_));
    }
  }

  // After compute().
  Task<> finish() {
    computed_ = self_.now();
    co_await under_way_.join();
  }

 private:
  Task<> average(std::size_t index) {
    const Slice part = buckets_[index].elements;
    const Data gradients = self_.gradients().part(part.begin, part.end);
    const Tag tag = tag_of(Channel::kGradients, self_.step() * buckets_.size() + index);
    return all_reduce_beside(self_, computed_, everyone_, gradients, over_samples(self_), tag, algorithm_);
  }

  Worker& self_;
  collective::SharedGroup everyone_;
  collective::Choice algorithm_;
  std::vector<collective::Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;  // by section
  std::vector<std::size_t> missing_;    // by bucket: sections that are not ready yet
  std::size_t started_ = 0;
  std::optional<Time> computed_;  // when compute() was over
  runtime::Scope under_way_;      // goes first: its tasks use the rest
};

}  // namespace

AllReduce::AllReduce(const Options& options, int)
    : algorithm_(algorithm_of(options)), bucket_(options.size("bucket")) {}

Task<> AllReduce::run_whole(Worker& self) const {
  const collective::SharedGroup everyone = self.everyone();
  while (co_await self.compute()) {
    co_await average_gradients(self, everyone, self.step(), algorithm_);
    co_await self.update();
  }
}

Task<> AllReduce::run_in_buckets(Worker& self) const {
  const runtime::Context& context = co_await runtime::this_context();
  Backward backward(self, *bucket_, algorithm_, context);
  StepPlan plan;
  plan.listener = &backward;
  while (co_await self.compute(plan)) {
    co_await backward.finish();
    co_await self.update();
  }
}

OptionSpec algorithm_option() {
  return OptionSpec::choice("algorithm", {"auto", "ring", "halving", "doubling"},
                            "algorithm of the all-reduce; auto: by size and number of workers");
}

collective::Choice algorithm_of(const Options& options) {
  const std::string& name = options.text("algorithm");
  if (name == "auto") return {};
  return collective::parse_algorithm(name, "algorithm");
}

std::uint64_t all_reduce_bytes(const Options& options, int workers, std::size_t elements, Rank rank) {
  if (workers == 1) return 0;
  const auto members = static_cast<std::size_t>(workers);
  const collective::Call call{.algorithm = algorithm_of(options).value_or(
                                  collective::Selection::network().choose(elements * sizeof(float), members)),
                              .members = members,
                              .count = elements};
  return cost_of(call, static_cast<std::size_t>(rank)).bytes;
}

Row allreduce_row() {
  return {
      .name = "allreduce",
      .summary = "synchronous SGD: the gradients of all workers are averaged every step",
      .options = {algorithm_option(),
                  OptionSpec::size("bucket",
                                   "gradients are sent during the backward pass in parts of at least "
                                   "this size; none: in one, after it")},
      .promises = {.on_loss = OnLoss::kEnds,
                   .conserves_mean = true,
                   .staleness = "0",
                   .waits_for = "the slowest worker, every step",
                   .bytes = "2 M (n-1)/n with ring or halving, M log2 n with doubling"},
      .make = make<AllReduce>,
      .bytes_sent = [](const Options& options, const Shape& shape,
                       Rank rank) -> std::optional<std::uint64_t> {
        // Only doubling always sends the whole: elsewhere the sizes of the buckets decide.
        if (options.size("bucket") && options.text("algorithm") != "doubling") return {};
        return shape.steps * all_reduce_bytes(options, shape.workers, shape.elements, rank);
      },
      .equal_models = [](const Options&) { return true; },
      .variants = {{},
                   {{"algorithm", "ring"}},
                   {{"algorithm", "halving"}},
                   {{"algorithm", "doubling"}},
                   {{"bucket", "1k"}},
                   {{"bucket", "1"}, {"algorithm", "doubling"}}},
  };
}

}  // namespace starling::strategy
