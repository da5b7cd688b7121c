#include "starling/torch/trainer.h"

#include <algorithm>

#include "starling/core/cpu.h"
#include "starling/core/error.h"
#include "starling/data/order.h"
#include "starling/session/session.h"
#include "starling/strategy/registry.h"
#include "starling/torch/accuracy_curve.h"
#include "starling/torch/forward_wait.h"
#include "starling/torch/replica.h"
#include "starling/torch/speed_emulator.h"
#include "starling/torch/tensor_batches.h"

namespace starling::torch {

using session::Session;
using session::Share;

namespace {

enum Stream : std::uint64_t { kPaceStream = 1 };

std::shared_ptr<Model> seeded_model(const TrainOptions& setting) {
  ::torch::manual_seed(setting.seed);
  return make_model(setting.model, shape_of(*setting.data), "--model");
}

class Trainer {
 public:
  Trainer(join::RunContext& context, const TrainOptions& setting, const TrainListener& listener)
      : context_(context),
        setting_(setting),
        listener_(listener),
        model_(seeded_model(setting)),
        feed_(*setting.data, TensorBatches::Side::kTrain),
        replica_(std::in_place, *model_),
        schedule_(schedule()),
        checkpoints_(setting.checkpoints) {}

  void serve();
  std::optional<TrainResult> run();

 private:
  Rank rank() const { return context_.environment().rank; }
  bool leads() const { return rank() == 0; }
  bool interrupted() const { return listener_.interrupted != nullptr && *listener_.interrupted; }
  bool lockstep() const { return context_.strategy().lockstep(); }
  std::uint64_t epoch_steps() const;
  std::uint64_t batches() const;
  std::uint64_t go_on();
  std::optional<std::uint64_t> last_step() const;
  optim::Schedule schedule() const;

  Session::Options session_setting();
  session::Callbacks program();
  std::vector<float> start();
  void loop();
  void bind();
  void use(const ::torch::nn::Module& module);
  Share next_share();
  void compute(const Share& share);
  void save(const session::Save& save);
  data::RunKeys keys() const {
    return run_keys(setting_, context_.environment().strategy, context_.environment().workers);
  }
  TrainResult result();

  join::RunContext& context_;
  const TrainOptions& setting_;
  const TrainListener& listener_;
  std::shared_ptr<Model> model_;
  TensorBatches feed_;
  std::unique_ptr<AccuracyCurve> curve_;
  std::unique_ptr<Session> session_;  // holds the memory that the replica is bound to
  // For other threads, which may be ahead of the session's constructor.
  std::atomic<const Session*> running_ = nullptr;
  std::atomic<bool> enough_ = false;  // a target is reached
  std::optional<Replica> replica_;
  bool bound_ = false;
  optim::Schedule schedule_;
  std::optional<SpeedEmulator> emulator_;
  data::CheckpointFiles checkpoints_;
  std::optional<data::WorkerState> resumed_;
  std::uint64_t step_ = 0;  // begun
  std::uint64_t epoch_ = 0;
  std::vector<std::uint32_t> order_;  // of the epoch
  std::uint64_t order_epoch_ = ~std::uint64_t{0};
};

std::uint64_t Trainer::batches() const {
  const std::size_t whole = feed_.size() / setting_.batch;
  const bool rest = setting_.dynamic_shards && feed_.size() % setting_.batch != 0;
  return whole + (rest ? 1 : 0);
}

// Of each worker. Where who is ready takes the next batch: of those that go in step, some without a batch.
std::uint64_t Trainer::epoch_steps() const {
  const int workers = context_.environment().workers;
  if (!setting_.dynamic_shards) return steps_per_epoch(feed_.size(), setting_.batch, workers);
  return (batches() + static_cast<std::uint64_t>(workers) - 1) / static_cast<std::uint64_t>(workers);
}

std::optional<std::uint64_t> Trainer::last_step() const {
  std::optional<std::uint64_t> last = setting_.steps;
  if (setting_.epochs)
    last = std::min(last.value_or(*setting_.epochs * epoch_steps()), *setting_.epochs * epoch_steps());
  return last;
}

optim::Schedule Trainer::schedule() const {
  return {.kind = setting_.schedule,
          .rate = setting_.optimizer.learning_rate,
          .warmup = setting_.warmup,
          .steps = last_step().value_or(0)};
}

Session::Options Trainer::session_setting() {
  Session::Options setting;
  setting.optimizer = setting_.optimizer;
  setting.seed = setting_.seed;
  setting.worker.sections = replica_->sections();
  setting.worker.steps = setting_.steps.value_or(setting.worker.steps);
  setting.worker.equal_batches = !setting_.dynamic_shards;
  setting.until = setting_.until;
  setting.report = true;
  setting.keep_record = true;
  setting.snapshot_every = setting_.eval_every.value_or(kSnapshotEvery);
  setting.check_sync = setting_.check_sync;
  setting.save_every = setting_.checkpoint_every;
  setting.dynamic_shares = setting_.dynamic_shards;
  return setting;
}

session::Callbacks Trainer::program() {
  session::Callbacks program;
  program.extras = replica_->extras();
  program.fixed = replica_->fixed();
  program.save = [this](const session::Save& what) { save(what); };
  program.saved = [this](std::uint64_t step) {
    checkpoints_.commit(step, context_.environment().workers, keys());
  };
  if (!leads()) return program;
  program.show = [this](const std::vector<session::Progress>& all) {
    const Session* const running = running_;
    if (listener_.show && running != nullptr) listener_.show(all, running->elapsed());
  };
  program.snapshot = [this](session::Snapshot snapshot) { curve_->add(std::move(snapshot)); };
  return program;
}

void Trainer::serve() {
  Session::Options setting = session_setting();
  session::serve(context_, std::move(setting));
}

std::optional<TrainResult> Trainer::run() {
  if (leads()) {
    curve_ = std::make_unique<AccuracyCurve>(setting_, [this] { enough_ = setting_.stop_at_target; });
  }
  Session::Options setting = session_setting();
  if (setting_.resume) {
    const data::CheckpointFiles files(*setting_.resume);
    step_ = files.latest(keys());
    resumed_ = files.read(step_, rank());
    setting.resume = session::Resume{step_, resumed_->kept, resumed_->server};
    setting.own_models = true;
  }
  emulator_.emplace(setting_.cluster, rank(), setting_.pace,
                    Random(setting_.seed).fork(kPaceStream).fork(static_cast<std::uint64_t>(rank())),
                    replica_->sections());
  session_ = std::make_unique<Session>(context_, std::move(setting), start(), program());
  running_ = session_.get();
  loop();
  const std::string complaint = emulator_->complaint();
  if (!complaint.empty() && listener_.remark) listener_.remark(complaint);
  if (!leads()) return {};
  return result();
}

// The model to begin with. Of a run that goes on, all that this rank had.
std::vector<float> Trainer::start() {
  if (!resumed_) return replica_->values();
  if (resumed_->parameters.size() != replica_->size())
    throw InvalidArgument("--resume: the checkpoint is of another model");
  std::size_t offset = 0;
  for (const std::span<float> extra : replica_->extras()) {
    if (offset + extra.size() > resumed_->extras.size())
      throw InvalidArgument("--resume: the checkpoint is of another model");
    std::copy_n(resumed_->extras.begin() + static_cast<std::ptrdiff_t>(offset), extra.size(), extra.begin());
    offset += extra.size();
  }
  return resumed_->parameters;
}

void Trainer::loop() {
  while (session_->next()) {
    if (!bound_) bind();
    if (enough_ || interrupted()) session_->stop();
    const Share share = next_share();
    if (share.kind == Share::Kind::kEnd) return session_->finish();
    compute(share);
  }
}

// The memory is this thread's from the first wish for a batch on.
void Trainer::bind() {
  bound_ = true;
  replica_->bind(session_->parameters(), session_->gradients());
  replica_->set_usable([this](std::size_t section) { return session_->usable(section); });
  replica_->on_gradient(
      [this](std::size_t section) { emulator_->backward(section, Time(session_->elapsed())); });
  emulator_->on_gradient([this](std::size_t section) { session_->section_ready(section); });
  model_->on_use([this](const ::torch::nn::Module& module) { use(module); });
  if (!resumed_) return;
  for (std::uint64_t done = go_on(); done > 0; --done) session_->next_share(epoch_, batches());
}

void Trainer::use(const ::torch::nn::Module& module) {
  const std::vector<std::size_t> sections = replica_->sections_of(module);
  const Duration asked = session_->elapsed();
  wait_for_sections(*session_, *replica_, sections);
  const Duration through = session_->elapsed();
  emulator_->waited(through - asked);
  emulator_->forward(sections, Time(through));
}

// Sets the epoch to that of the checkpoint. Returns how many batches of it this rank had, those included that
// were empty.
std::uint64_t Trainer::go_on() {
  const auto workers = static_cast<std::uint64_t>(context_.environment().workers);
  if (lockstep() || !setting_.dynamic_shards) {
    epoch_ = step_ / epoch_steps();
    return step_ % epoch_steps();
  }
  // Who had how many is not known, and does not matter: together they had all.
  epoch_ = step_ * workers / batches();
  const std::uint64_t had = step_ * workers % batches();
  return had / workers + (static_cast<std::uint64_t>(rank()) < had % workers ? 1 : 0);
}

// kEnd: of the last epoch.
Share Trainer::next_share() {
  while (!setting_.epochs || epoch_ < *setting_.epochs) {
    const Share share = session_->next_share(epoch_, batches());
    if (share.kind != Share::Kind::kEnd) return share;
    ++epoch_;
  }
  return {Share::Kind::kEnd, 0};
}

void Trainer::compute(const Share& share) {
  ++step_;
  emulator_->begin(Time(session_->elapsed()));
  session_->set_learning_rate(schedule_.at(step_));
  replica_->zero_gradients();
  if (share.kind == Share::Kind::kEmpty) return session_->computed({.samples = 0});
  if (order_epoch_ != epoch_) order_ = data::epoch_order(feed_.size(), setting_.seed, epoch_);
  order_epoch_ = epoch_;
  const std::size_t begin = share.batch * setting_.batch;
  const std::size_t count = std::min(setting_.batch, order_.size() - begin);
  const Sample sample = feed_.take(std::span(order_).subspan(begin, count));
  session_->expect(sample.samples);
  const ::torch::Tensor loss =
      ::torch::nn::functional::cross_entropy(model_->forward(sample.input), sample.target);
  loss.backward();
  replica_->collect_gradients();
  emulator_->end(Time(session_->elapsed()));
  session_->computed({.samples = sample.samples, .loss = loss.item<double>()});
}

void Trainer::save(const session::Save& what) {
  data::WorkerState state;
  const auto parameters = session_->parameters();
  state.parameters.assign(parameters.begin(), parameters.end());
  for (const std::span<float> extra : replica_->extras()) {
    state.extras.insert(state.extras.end(), extra.begin(), extra.end());
  }
  state.kept = what.kept;
  state.server = what.server;
  checkpoints_.write(what.step, rank(), state);
}

TrainResult Trainer::result() {
  TrainResult result;
  record::RunRecord& run = result.run;
  run.strategy = context_.environment().strategy;
  run.world = "real";
  run.ranks = session_->collect();
  for (const record::RankRecord& record : run.ranks)
    run.duration = std::max(run.duration, Duration(record.end.time_since_epoch()));
  ::torch::set_num_threads(usable_cores());  // the others are gone
  AccuracyCurve::Result curve = curve_->finish(!interrupted());
  run.losses = std::move(curve.points);
  run.final_train_loss = curve.train_loss;
  run.final_accuracy = curve.test_accuracy;
  run.has_target = setting_.target_loss || setting_.target_accuracy;
  run.time_to_target = curve.time_to_target;
  result.model = std::move(curve.model);
  result.model.metadata["model"] = setting_.model;
  return result;
}

}  // namespace

std::optional<TrainResult> train(join::RunContext& context, const TrainOptions& setting,
                                 const TrainListener& listener) {
  ::torch::set_num_threads(setting.threads);
  Trainer trainer(context, setting, listener);
  if (context.environment().trains()) return trainer.run();
  trainer.serve();
  return {};
}

}  // namespace starling::torch
