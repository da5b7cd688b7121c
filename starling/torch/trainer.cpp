#include "starling/torch/trainer.h"

#include <algorithm>

#include "starling/core/cpu.h"
#include "starling/core/error.h"
#include "starling/core/partition.h"
#include "starling/data/order.h"
#include "starling/torch/accuracy_curve.h"
#include "starling/torch/resume_position.h"
#include "starling/torch/session.h"
#include "starling/torch/tensor_batches.h"

namespace starling::torch {

using session::Share;

namespace {

std::shared_ptr<Model> seeded_model(const TrainOptions& options) {
  ::torch::manual_seed(options.seed);
  return make_model(options.model, shape_of(*options.data), "--model");
}

class Trainer {
 public:
  Trainer(join::RunContext& context, const TrainOptions& options, const TrainListener& listener)
      : context_(context),
        options_(options),
        listener_(listener),
        model_(seeded_model(options)),
        batches_(*options.data, TensorBatches::Side::kTrain),
        pieces_(static_cast<std::uint64_t>(context.strategy().pieces())),
        curve_(options, [this] { enough_ = options_.stop_at_target; }),
        schedule_(schedule()) {}

  // A rank that only serves does so in the session's constructor, and never returns.
  std::optional<TrainResult> run();

 private:
  bool interrupted() const { return listener_.interrupted != nullptr && *listener_.interrupted; }
  int workers() const { return context_.environment().workers; }
  bool by_demand() const { return options_.dynamic_shards || pieces_ > 1; }
  std::uint64_t epoch_batches() const;
  std::uint64_t epoch_shares() const { return epoch_batches() * pieces_; }
  std::uint64_t epoch_steps() const;
  std::optional<std::uint64_t> last_step() const;
  bool ends_by_data() const;
  std::uint64_t schedule_step() const;
  optim::Schedule schedule() const;
  SessionOptions session_options();
  void loop();
  void skip_trained();
  Share next_share();
  bool take_shares();
  std::span<const std::uint32_t> samples_of(const Share& share) const;
  void compute();
  TrainResult result(std::vector<record::RankRecord> ranks);

  join::RunContext& context_;
  const TrainOptions& options_;
  const TrainListener& listener_;
  std::shared_ptr<Model> model_;
  TensorBatches batches_;
  std::uint64_t pieces_;              // of a batch
  std::atomic<bool> enough_ = false;  // a target is reached
  AccuracyCurve curve_;
  optim::Schedule schedule_;
  std::unique_ptr<Session> session_;
  std::uint64_t first_batch_ = 0;     // of all epochs, that this step has a share of
  std::vector<std::uint32_t> taken_;  // the samples of all its shares
  std::uint64_t epoch_ = 0;
  std::vector<std::uint32_t> order_;  // of the epoch
  std::uint64_t order_epoch_ = ~std::uint64_t{0};
};

std::uint64_t Trainer::epoch_batches() const {
  const std::size_t whole = batches_.size() / options_.batch;
  const bool rest = by_demand() && batches_.size() % options_.batch != 0;
  return whole + (rest ? 1 : 0);
}

// The steps of each worker. With dynamic shards of workers in lockstep, some of them have no batch.
std::uint64_t Trainer::epoch_steps() const {
  if (!by_demand()) return steps_per_epoch(batches_.size(), options_.batch, workers());
  const auto all = static_cast<std::uint64_t>(workers());
  return (epoch_batches() + all - 1) / all;
}

std::optional<std::uint64_t> Trainer::last_step() const {
  std::optional<std::uint64_t> last = options_.steps;
  if (options_.epochs)
    last = std::min(last.value_or(*options_.epochs * epoch_steps()), *options_.epochs * epoch_steps());
  return last;
}

// Whether the data of the last epoch ends the run, and not a number of steps that each worker makes.
bool Trainer::ends_by_data() const {
  if (!options_.epochs || !by_demand()) return false;
  if (context_.strategy().lockstep() && pieces_ == 1) return false;
  return !options_.steps || *options_.steps > *options_.epochs * epoch_steps();
}

std::uint64_t Trainer::schedule_step() const {
  return ends_by_data() ? optim::step_at_batch(first_batch_, workers()) : session_->next_step();
}

optim::Schedule Trainer::schedule() const {
  return {.kind = options_.schedule,
          .rate = options_.optimizer.learning_rate,
          .warmup = options_.warmup.length(epoch_steps()),
          .steps = last_step().value_or(0),
          .power = options_.power,
          .end_rate = options_.end_rate};
}

SessionOptions Trainer::session_options() {
  SessionOptions options;
  options.context = &context_;
  options.seed = options_.seed;
  options.equal_batches = !by_demand() && context_.strategy().equal_batches();
  options.nonfinite = options_.nonfinite;
  options.dynamic_shards = by_demand();
  options.final_model = FinalModel::kOwn;  // the mean is the last snapshot
  options.steps = options_.steps;
  options.max_time = options_.until;
  options.emulate = options_.cluster;
  options.pace = options_.pace;
  options.keep_record = true;
  options.record = options_.record;
  options.snapshot_every = options_.eval_every.value_or(kSnapshotEvery);
  options.check_sync = options_.check_sync;
  options.checkpoint_every = options_.checkpoint_every;
  options.checkpoints = options_.checkpoints;
  if (options_.resume) options.resume = options_.resume->parent_path();
  if (options_.checkpoint_every > 0 || options_.resume)
    options.checkpoint_keys = run_keys(options_, *options_.data);
  options.on_progress = [this](const std::vector<session::Progress>& all, Duration elapsed) {
    if (listener_.show) listener_.show(all, elapsed);
  };
  options.on_snapshot = [this](session::Snapshot snapshot) { curve_.add(std::move(snapshot)); };
  options.on_kept_snapshot = [this](session::Snapshot snapshot) { curve_.keep(std::move(snapshot)); };
  return options;
}

std::optional<TrainResult> Trainer::run() {
  session_ = std::make_unique<Session>(*model_, options_.optimizer, session_options());
  model_->on_use([this](::torch::nn::Module& module) { session_->ready(module); });
  loop();
  const std::string complaint = session_->emulation_complaint();
  if (!complaint.empty() && listener_.remark) listener_.remark(complaint);
  std::vector<record::RankRecord> ranks = session_->collect();
  if (ranks.empty()) return {};
  TrainResult result = this->result(std::move(ranks));
  if (listener_.write) listener_.write(result);
  return result;
}

void Trainer::loop() {
  skip_trained();
  while (session_->more()) {
    if (enough_ || interrupted()) session_->stop();
    if (!session_->again() && !take_shares()) return session_->finish();
    compute();
  }
}

// In a run that resumes: the batches before the checkpoint, those included that were empty.
void Trainer::skip_trained() {
  std::optional<std::uint64_t> shares;
  while (!(shares = session_->shares_trained(epoch_shares()))) ++epoch_;
  for (std::uint64_t i = 0; i < *shares; ++i) session_->next_share(epoch_, epoch_shares());
}

// As many as the strategy wants to be computed as one. False: the last epoch is over.
bool Trainer::take_shares() {
  taken_.clear();
  for (std::uint64_t i = 0; i < session_->together(); ++i) {
    const Share share = next_share();
    if (share.kind == Share::Kind::kEnd) return i > 0;
    if (i == 0) first_batch_ = epoch_ * epoch_batches() + share.batch / pieces_;
    if (share.kind == Share::Kind::kEmpty) return true;
    if (order_epoch_ != epoch_) order_ = data::epoch_order(batches_.size(), options_.seed, epoch_);
    order_epoch_ = epoch_;
    const std::span<const std::uint32_t> samples = samples_of(share);
    taken_.insert(taken_.end(), samples.begin(), samples.end());
  }
  return true;
}

// kEnd: of the last epoch.
Share Trainer::next_share() {
  while (!options_.epochs || epoch_ < *options_.epochs) {
    const Share share = session_->next_share(epoch_, epoch_shares());
    if (share.kind != Share::Kind::kEnd) return share;
    ++epoch_;
  }
  return {Share::Kind::kEnd, 0};
}

// A batch of the epoch, a piece of one, or a part of the global batch.
std::span<const std::uint32_t> Trainer::samples_of(const Share& share) const {
  const std::span<const std::uint32_t> all(order_);
  if (const std::optional<strategy::Portion> portion = session_->portion()) {
    const auto everyone = static_cast<std::size_t>(workers());
    const std::span<const std::uint32_t> global =
        all.subspan(share.batch / everyone * everyone * options_.batch, everyone * options_.batch);
    const Slice own = portion->of(global.size());
    return global.subspan(own.begin, own.size());
  }
  const std::size_t begin = share.batch / pieces_ * options_.batch;
  const std::span<const std::uint32_t> batch =
      all.subspan(begin, std::min(options_.batch, all.size() - begin));
  const Slice piece = slice_of(batch.size(), pieces_, share.batch % pieces_);
  return batch.subspan(piece.begin, piece.size());
}

void Trainer::compute() {
  session_->set_learning_rate(schedule_.at(schedule_step()));
  if (taken_.empty()) {
    session_->idle_step();
    return;
  }
  const Sample sample = batches_.take(taken_);
  session_->expect(sample.samples, static_cast<double>(taken_.size()) / static_cast<double>(options_.batch));
  const ::torch::Tensor loss =
      ::torch::nn::functional::cross_entropy(model_->forward(sample.input), sample.target);
  loss.backward();
  session_->step(loss);
}

TrainResult Trainer::result(std::vector<record::RankRecord> ranks) {
  TrainResult result;
  record::RunRecord& run = result.run;
  run = record::real_run(context_.environment().strategy, std::move(ranks));
  run.record = options_.record.mode;
  ::torch::set_num_threads(usable_cores());  // the others only wait
  AccuracyCurve::Result curve = curve_.finish(!interrupted());
  run.losses = std::move(curve.points);
  run.final_train_loss = curve.train_loss;
  run.final_accuracy = curve.test_accuracy;
  run.has_target = options_.target_loss || options_.target_accuracy;
  run.time_to_target = curve.time_to_target;
  result.model = std::move(curve.model);
  result.model.metadata["model"] = options_.model;
  return result;
}

}  // namespace

std::optional<TrainResult> train(join::RunContext& context, const TrainOptions& options,
                                 const TrainListener& listener) {
  ::torch::set_num_threads(options.threads);
  return Trainer(context, options, listener).run();
}

}  // namespace starling::torch
