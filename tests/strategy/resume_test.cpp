// A run that goes on from what was kept at some step ends in the bits of one that was never interrupted.
#include <gtest/gtest.h>

#include <map>

#include "starling/runtime/event.h"
#include "starling/strategy/registry.h"
#include "starling/strategy/run_info.h"
#include "tests/support/virtual_ranks.h"

namespace starling::strategy {
namespace {

constexpr int kResumedWorkers = 3;
constexpr std::size_t kElements = 6;

using Kept = std::map<std::string, std::vector<std::byte>>;

// A member that stores the registered state: as it was at the cut, and where it is now.
struct Shelf {
  Kept old;
  std::map<std::string, std::span<std::byte>> now;

  void keep(std::string_view name, std::span<std::byte> state) {
    const auto found = old.find(std::string(name));
    if (found != old.end()) std::copy(found->second.begin(), found->second.end(), state.begin());
    now[std::string(name)] = state;
  }
  Kept copy() const {
    Kept copy;
    for (const auto& [name, state] : now) copy[name].assign(state.begin(), state.end());
    return copy;
  }
};

// The run: workers meet between two steps at the cut, where everything is copied.
struct Stage {
  std::uint64_t steps = 0;
  std::uint64_t cut = 0;
  std::uint64_t done = 0;  // steps before this run
  std::vector<Shelf> shelves = std::vector<Shelf>(kResumedWorkers + 1);
  std::vector<std::vector<std::vector<float>>> vectors;  // of each worker: model, optimiser; as at the cut
  std::vector<Kept> kept;
  runtime::Event met{"the others at the cut"};
  int here = 0;
};

class Trainee final : public WithRunInfo<Worker> {
 public:
  Trainee(const RunInfo& place, transport::Transport& net, Stage& stage)
      : WithRunInfo(place, net, Random(1)),
        stage_(stage),
        parameters_(initial_model()),
        gradients_(allocate(kElements)),
        optimizer_(make_optimizer(kElements)),
        step_(stage.done),
        company_(net.scheduler()) {
    optimizer_->set_steps(stage.done);
  }

  Data parameters() override { return parameters_.data; }
  Data gradients() override { return gradients_.data; }
  void beside(Task<> task, std::string name) override { company_.spawn(std::move(task), std::move(name)); }
  std::vector<Data> optimizer_state() override { return {Data(optimizer_->state().front())}; }
  double learning_rate() const override { return optimizer_->learning_rate(); }
  void set_learning_rate(double rate) override { optimizer_->set_learning_rate(rate); }
  std::uint64_t step() const override { return step_; }
  std::size_t samples() const override { return 1; }
  int pieces() const override { return 1; }
  double loss() const override { return 1.0 / static_cast<double>(step_); }
  bool equal_batches() const override { return true; }
  void keep(std::string_view name, std::span<std::byte> state) override { shelf().keep(name, state); }

  Task<bool> compute(const StepPlan& plan) override {
    if (rests_next()) {
      if (plan.listener != nullptr) co_await plan.listener->settle();
      co_await meet();
    }
    if (step_ == stage_.steps) co_return false;
    ++step_;
    if (plan.listener != nullptr) {
      plan.listener->begins();
      co_await plan.listener->before_forward(0);
    }
    const std::span<float> x = floats(parameters_.data), gradient = floats(gradients_.data);
    for (std::size_t i = 0; i < kElements; ++i) {
      gradient[i] = 0.3F * x[i] - static_cast<float>(i + static_cast<std::size_t>(rank()) * step_);
    }
    if (plan.listener != nullptr) plan.listener->gradient_ready(0);
    co_return true;
  }
  Task<> update() override {
    optimizer_->step(floats(parameters_.data), floats(gradients_.data));
    co_return;
  }
  Task<> update(Slice, std::uint64_t) override { return update(); }
  optim::Optimizer& flat_optimizer() override { return *optimizer_; }
  bool has_flat_optimizer() const override { return true; }
  double clip_norm() const override { return 0; }
  bool rests_next() const override { return step_ == stage_.cut && step_ > stage_.done; }

 private:
  Shelf& shelf() { return stage_.shelves[static_cast<std::size_t>(rank())]; }

  Task<> meet() {
    stage_.vectors.resize(kResumedWorkers);
    auto& own = stage_.vectors[static_cast<std::size_t>(rank())];
    for (const Data data : {parameters(), optimizer_state().front()}) {
      own.emplace_back(floats(data).begin(), floats(data).end());
    }
    if (++stage_.here < kResumedWorkers) {
      co_await stage_.met;
      co_return;
    }
    for (const Shelf& shelf : stage_.shelves) stage_.kept.push_back(shelf.copy());
    stage_.met.set();
  }

  Stage& stage_;
  Buffer parameters_;
  Buffer gradients_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::uint64_t step_;
  runtime::Scope company_;
};

class Servant final : public WithRunInfo<Member> {
 public:
  Servant(const RunInfo& place, transport::Transport& net, Shelf& shelf)
      : WithRunInfo(place, net, Random(1)), shelf_(shelf) {}
  void keep(std::string_view name, std::span<std::byte> state) override { shelf_.keep(name, state); }

 private:
  Shelf& shelf_;
};

// Runs from what `before` copied, if anything; returns the models.
std::vector<std::vector<float>> run(const Strategy& strategy, Stage& stage, const Stage* before) {
  RunInfo place;
  place.workers = kResumedWorkers;
  place.everyone = ranks_up_to(kResumedWorkers);
  place.server = kResumedWorkers;
  place.host_of_rank.assign(kResumedWorkers + 1, 0);
  place.starts.assign(kResumedWorkers, true);
  place.optimizer.momentum = 0.9;
  place.optimizer.learning_rate = 0.1;
  place.elements = kElements;
  place.sections = {{"x", 0, kElements}};
  place.initial_model.assign(kElements, 1.0F);
  testing::VirtualRanks ranks(kResumedWorkers + 1);
  std::deque<Trainee> workers;
  for (std::size_t rank = 0; rank <= kResumedWorkers && before != nullptr; ++rank) {
    stage.shelves[rank].old = before->kept[rank];
  }
  for (Rank rank = 0; rank < kResumedWorkers; ++rank) {
    Trainee& worker = workers.emplace_back(place, ranks.at(rank), stage);
    if (before == nullptr) continue;
    const auto& vectors = before->vectors[static_cast<std::size_t>(rank)];
    std::copy(vectors[0].begin(), vectors[0].end(), floats(worker.parameters()).begin());
    std::copy(vectors[1].begin(), vectors[1].end(), floats(worker.optimizer_state().front()).begin());
  }
  Servant servant(place, ranks.at(kResumedWorkers), stage.shelves.back());
  runtime::Scope service(ranks.at(kResumedWorkers).scheduler());
  service.spawn(strategy.serve(servant), "service");
  for (Rank rank = 0; rank < kResumedWorkers; ++rank) {
    ranks.start(rank, strategy.run(workers[static_cast<std::size_t>(rank)]));
  }
  ranks.run();
  std::vector<std::vector<float>> models;
  for (Rank rank = 0; rank < kResumedWorkers; ++rank) {
    EXPECT_FALSE(ranks.error(rank));
    const auto x = floats(workers[static_cast<std::size_t>(rank)].parameters());
    models.emplace_back(x.begin(), x.end());
  }
  return models;
}

// Whether the result is independent of the order of arrival: workers count steps together, or have equal
// models after each. The service has a rank of its own here.
bool comparable(const StrategyEntry& row, const Options& options) {
  const auto strategy = row.make(options, kResumedWorkers);
  return strategy->service() != Placement::kBesideWorker0 &&
         (strategy->lockstep() || has_equal_models(row, options));
}

TEST(Resume, EndsInTheBitsOfARunWithoutInterruption) {
  for (const StrategyEntry& row : registry()) {
    for (const OptionTexts& texts : row.variants) {
      const Options options = Options::parse(row.options, row.name, texts);
      if (!comparable(row, options)) continue;
      SCOPED_TRACE(concat(row.name, " ", texts.empty() ? "" : texts.begin()->second));
      const auto strategy = row.make(options, kResumedWorkers);
      for (const std::uint64_t cut : {4U, 11U, 20U}) {
        Stage whole;
        whole.steps = 40;
        whole.cut = cut;
        const auto expected = run(*strategy, whole, nullptr);
        Stage rest;
        rest.steps = 40;
        rest.done = cut;
        EXPECT_EQ(run(*strategy, rest, &whole), expected) << "cut after step " << cut;
      }
    }
  }
}

}  // namespace
}  // namespace starling::strategy
