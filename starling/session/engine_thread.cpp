#include "starling/session/engine_thread.h"

#include <algorithm>
#include <utility>

#include "starling/core/error.h"
#include "starling/runtime/run.h"
#include "starling/runtime/scope.h"
#include "starling/session/exit_barrier.h"
#include "starling/session/startup_sync.h"

namespace starling::session {

using runtime::Task;
using strategy::Data;
using strategy::Placement;
using strategy::ranks_up_to;

strategy::RunInfo make_run_info(const SessionOptions& options, Placement service, int ranks) {
  strategy::RunInfo info;
  info.workers = options.workers;
  info.everyone = ranks_up_to(options.workers);
  const bool own_rank = service != Placement::kNone && ranks == options.workers + 1;
  if (!own_rank && ranks != options.workers) {
    throw InvalidArgument(
        concat("a run of ", options.workers, " workers",
               service != Placement::kNone ? ", with or without a rank for the service," : "", " has ", ranks,
               " ranks"));
  }
  info.server = own_rank ? options.workers : 0;
  info.host_of_rank = options.host_of_rank;
  info.host_of_rank.resize(static_cast<std::size_t>(ranks));
  info.starts.assign(static_cast<std::size_t>(options.workers), true);
  info.optimizer = options.optimizer;
  info.no_flat_optimizer = options.no_flat_optimizer;
  info.nonfinite = options.nonfinite;
  for (const strategy::Section& section : options.sections) {
    info.elements = std::max(info.elements, section.offset + section.count);
  }
  info.sections = options.sections;
  info.initial_model.resize(info.elements);
  return info;
}

Random random_stream(std::uint64_t seed, Rank rank) {
  return Random(seed).fork(static_cast<std::uint64_t>(rank) + 1);
}

namespace {

RealWorker::Options worker_options(const SessionOptions& options, const Callbacks& callbacks) {
  return {.sections = options.sections,
          .steps = options.steps,
          .equal_batches = options.equal_batches,
          .own_optimizer = callbacks.update != nullptr,
          .has_flat_optimizer = options.no_flat_optimizer.empty(),
          .clip_norm = options.optimizer.clip_norm};
}

std::span<const std::byte> saved_state(const SessionOptions& options) {
  if (!options.resume) return {};
  return options.resume->kept;
}

void check(const SessionOptions& options, const strategy::Strategy& strategy, std::size_t elements,
           std::size_t model) {
  if (model != elements) {
    throw InvalidArgument(concat("the sections have ", elements, " elements, the model has ", model));
  }
  if (options.save_every > 0 && !strategy.may_pause()) {
    throw InvalidArgument("checkpoints: the workers of this strategy cannot rest at the same step");
  }
}

}  // namespace

EngineThread::EngineThread(runtime::LoopScheduler& loop, transport::Transport& net,
                           const strategy::Strategy& strategy, SessionOptions options,
                           std::span<const float> initial_model, Callbacks callbacks)
    : loop_(loop),
      net_(net),
      strategy_(strategy),
      options_(std::move(options)),
      info_(make_run_info(options_, strategy.service(), net.size())),
      callbacks_(std::move(callbacks)),
      shares_({options_.dynamic_shares, strategy.lockstep() && strategy.pieces() == 1}, net.rank(),
              options_.workers),
      checkpoint_state_(saved_state(options_)) {
  check(options_, strategy, info_.elements, initial_model.size());
  check(shares_.rules(), options_.equal_batches);
  rest_in_callbacks();
  std::copy(initial_model.begin(), initial_model.end(), info_.initial_model.begin());
  worker_ = std::make_unique<RealWorker>(worker_parts(), worker_options(options_, callbacks_));
  std::copy(initial_model.begin(), initial_model.end(), strategy::floats(worker_->parameters()).begin());
  keep_random();
  background_ = std::make_shared<BackgroundServices>(info_, *worker_, options_, strategy.lockstep(),
                                                     callbacks_, checkpoint_state_);
  if (options_.dynamic_shares) background_->include(shares_);
  hooks_ = background_->step_hooks();
  if (strategy_.service() != Placement::kNone && net_.rank() == info_.server) make_service();
  if (!callbacks_.update) worker_->make_own_optimizer();
  thread_ = std::thread([this] { run(); });
}

EngineThread::~EngineThread() { thread_.join(); }

// The program's functions that this thread calls may take their time: the loop rests meanwhile, which is not
// to be taken for standing still.
void EngineThread::rest_in_callbacks() {
  const auto resting = [this]<class Call>(Call& call) {
    if (!call) return;
    call = [this, call]<class Argument>(Argument&& argument) {
      net_.end_beating();
      call(std::forward<Argument>(argument));
      net_.begin_beating(options_.stall_limit);
    };
  };
  resting(callbacks_.show);
  resting(callbacks_.snapshot);
  resting(callbacks_.keep_progress);
  resting(callbacks_.keep_snapshot);
}

RealWorker::Parts EngineThread::worker_parts() {
  return {.info = info_,
          .net = net_,
          .random = random_stream(options_.seed, net_.rank()),
          .requests = requests_,
          .checkpoint_state = checkpoint_state_,
          .hooks = hooks_,
          .first_step = options_.resume ? options_.resume->step : 0,
          .stop = [this] { background_->wish_end(); }};
}

// Two workers never go on with the same random numbers.
void EngineThread::keep_random() {
  checkpoint_state_.keep("random", std::as_writable_bytes(std::span(&worker_->random(), 1)));
  if (!options_.resume || !options_.resume->of_another) return;
  worker_->random() = random_stream(options_.seed, net_.rank()).fork(options_.resume->step);
}

void EngineThread::make_service() {
  service_ = std::make_unique<RealService>(info_, net_, random_stream(options_.seed, options_.workers),
                                           checkpoint_state_);
  background_->include(*service_);
}

std::vector<float> EngineThread::mean(std::vector<float> own) {
  return mean_call_.ask(loop_, std::move(own));
}

std::vector<record::RankRecord> EngineThread::collect() {
  return collected_.valid() ? collected_.get() : std::vector<record::RankRecord>();
}

void EngineThread::release() {
  loop_.post([weak = std::weak_ptr(background_)] {
    if (const auto background = weak.lock()) background->release();
  });
}

void EngineThread::abandon() {
  loop_.post([this] { abandoned_.set(); });
}

void EngineThread::stop() {
  loop_.post([weak = std::weak_ptr(background_)] {
    if (const auto background = weak.lock()) background->wish_end();
  });
}

Duration EngineThread::elapsed() const { return std::max(Duration(0), loop_.now() - origin_.load()); }

void EngineThread::run() {
  try {
    const transport::Beating beating(net_, options_.stall_limit);
    runtime::run(loop_, live(), concat("rank ", net_.rank()));
  } catch (...) {
    end(std::current_exception());
  }
  hand_over_records();
}

void EngineThread::hand_over_records() {
  if (records_given_) return;
  records_given_ = true;
  records_.set_value(background_->take_records());
}

// Tells the user's thread once.
void EngineThread::end(std::exception_ptr error) {
  if (told_) return;
  told_ = true;
  error_ = std::move(error);
  shares_.close(error_);
  mean_call_.close(error_);
  requests_.ask({.kind = UserRequest::Kind::kEnd});
}

// The ranks begin together, from the same model.
Task<> EngineThread::agree() {
  std::span<const std::byte> saved;
  if (options_.resume) saved = options_.resume->server;
  co_await agree_on_model(net_, info_);
  if (net_.rank() == 0 && net_.size() > options_.workers)
    co_await hand_over_state(net_, options_.workers, saved);
  co_await agree_on_rest(net_, info_.everyone, callbacks_, options_.own_models);
  if (!options_.own_models) {
    strategy::copy(Data{std::span<float>(info_.initial_model)}, worker_->parameters());
  }
  const Time origin = co_await common_origin(net_);
  origin_ = origin;
  background_->begin(origin);
}

// With MPI a death ends the job.
void EngineThread::take_part(runtime::Scope& scope) {
  if (options_.end_on_loss || net_.name().find("mpi") != std::string_view::npos) return;
  membership_.emplace(net_, options_.workers,
                      membership::Membership::Options{.patience = options_.majority_patience});
  worker_->take_part_in(*membership_);
  background_->leave_out(membership_->traffic());
  scope.spawn(membership_->run(), "membership");
}

// The first task that ends, ends the others: the work, the service by failing, the user by going away.
Task<> EngineThread::live() {
  co_await agree();
  const auto wait_for_user = [](EngineThread& self) -> Task<> { co_await self.abandoned_; };
  runtime::Scope scope(co_await runtime::this_context());
  scope.race();
  worker_->begin(scope);
  take_part(scope);
  if (service_) scope.spawn(for_ever(strategy_.serve(*service_)), "service");
  scope.spawn(background_->run(), "background");
  const auto find_mean = [this](std::vector<float> own) {
    return background_->model_mean().with_others(std::move(own));
  };
  scope.spawn(mean_call_.run(find_mean), "means");
  if (options_.dynamic_shares) scope.spawn(shares_.run(net_), "shares");
  scope.spawn(work(), "strategy");
  scope.spawn(wait_for_user(*this), "user");
  co_await scope.join();
}

Task<> EngineThread::work() {
  std::exception_ptr error;
  try {
    co_await strategy_.run(*worker_);
  } catch (...) {
    error = std::current_exception();
  }
  co_await background_->conclude(error);
  end(error ? error : worker_->failure());
  co_await background_->see_off(error);
  hand_over_records();
  if (error) std::rethrow_exception(error);
  co_await background_->concluded();
  co_await exit_barrier(net_);
}

}  // namespace starling::session
