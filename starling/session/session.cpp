#include "starling/session/session.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/runtime/run.h"
#include "starling/runtime/scope.h"
#include "starling/session/exit_barrier.h"
#include "starling/session/startup_sync.h"
#include "starling/strategy/registry.h"

namespace starling::session {

using runtime::Task;
using strategy::Data;
using strategy::floats;
using strategy::Placement;
using strategy::ranks_up_to;

namespace {

strategy::RunInfo make_place(const Session::Options& setting, Placement service, int ranks) {
  strategy::RunInfo info;
  info.workers = setting.workers;
  info.everyone = ranks_up_to(setting.workers);
  const bool own_rank = service != Placement::kNone && ranks == setting.workers + 1;
  if (!own_rank && ranks != setting.workers) {
    throw InvalidArgument(
        concat("a run of ", setting.workers, " workers",
               service != Placement::kNone ? ", with or without a rank for the service," : "", " has ", ranks,
               " ranks"));
  }
  info.server = own_rank ? setting.workers : 0;
  info.host_of_rank = setting.host_of_rank;
  info.host_of_rank.resize(static_cast<std::size_t>(ranks));
  info.starts.assign(static_cast<std::size_t>(setting.workers), true);
  info.optimizer = setting.optimizer;
  info.no_flat_optimizer = setting.no_flat_optimizer;
  for (const strategy::Section& section : setting.worker.sections) {
    info.elements = std::max(info.elements, section.offset + section.count);
  }
  info.initial_model.resize(info.elements);
  return info;
}

Random stream_of(std::uint64_t seed, Rank rank) {
  return Random(seed).fork(static_cast<std::uint64_t>(rank) + 1);
}

Session::Options for_strategy(Session::Options setting, const strategy::Strategy& strategy) {
  setting.lockstep = strategy.lockstep();
  return setting;
}

Task<> serve_rank(transport::Transport& net, const strategy::Strategy& strategy, strategy::RunInfo& info,
                  const Session::Options& setting) {
  co_await agree_on_model(net, info);
  const Bytes state = co_await receive_state(net);
  CheckpointState kept(state);
  RealService member(info, net, stream_of(setting.seed, net.rank()), kept);
  ControlChannel control(net);
  RecordCollector collector(net, control, info, setting.keep_record);
  collector.include(member.journal());
  Checkpoint::answer(control, kept);
  const Time origin = co_await common_origin(net);
  collector.begin(origin);
  runtime::Scope scope(co_await runtime::this_context());
  scope.race();
  scope.spawn(for_ever(strategy.serve(member)), "service");
  scope.spawn(control.run(), "letters");
  scope.spawn(exit_barrier(net), "farewell");
  co_await scope.join();
}

}  // namespace

Session::Options in_run(const join::RunEnvironment& environment, Session::Options setting) {
  setting.workers = environment.workers;
  if (!setting.host_of_rank.empty()) return setting;
  setting.host_of_rank = environment.link ? ranks_up_to(environment.ranks) : environment.host_of_rank;
  return setting;
}

Session::Session(runtime::LoopScheduler& loop, transport::Transport& net, const strategy::Strategy& strategy,
                 Options setting, std::span<const float> initial_model, Callbacks callbacks)
    : loop_(loop),
      net_(net),
      strategy_(strategy),
      setting_(for_strategy(std::move(setting), strategy)),
      info_(make_place(setting_, strategy.service(), net.size())),
      callbacks_(std::move(callbacks)),
      shares_({setting_.dynamic_shares, setting_.lockstep}, net.rank(), setting_.workers),
      checkpoint_state_(setting_.resume ? std::span<const std::byte>(setting_.resume->kept)
                                        : std::span<const std::byte>()) {
  if (initial_model.size() != info_.elements) {
    throw InvalidArgument(
        concat("the sections have ", info_.elements, " elements, the model has ", initial_model.size()));
  }
  check(shares_.rules(), setting_.worker.equal_batches);
  learning_rate_ = setting_.optimizer.learning_rate;
  setting_.worker.own_optimizer = callbacks_.update != nullptr;
  setting_.worker.has_flat_optimizer = setting_.no_flat_optimizer.empty();
  setting_.worker.clip_norm = setting_.optimizer.clip_norm;
  std::copy(initial_model.begin(), initial_model.end(), info_.initial_model.begin());
  worker_ = std::make_unique<RealWorker>(info_, net, stream_of(setting_.seed, net.rank()), setting_.worker,
                                         requests_);
  if (setting_.save_every > 0 && !strategy.may_pause()) {
    throw InvalidArgument("checkpoints: the workers of this strategy cannot rest at the same step");
  }
  std::copy(initial_model.begin(), initial_model.end(), parameters().begin());
  worker_->set_checkpoint_state(checkpoint_state_);
  if (setting_.resume) worker_->go_on_from(setting_.resume->step);
  checkpoint_state_.keep("random", std::as_writable_bytes(std::span(&worker_->random(), 1)));
  background_ = std::make_shared<BackgroundServices>(info_, *worker_, setting_, setting_.worker.steps,
                                                     callbacks_, checkpoint_state_);
  RealWorker::StepHooks hooks = background_->hooks();
  if (setting_.check_sync > 0) hooks.push_back(&equality_check_.emplace(*worker_, setting_.check_sync));
  worker_->set_hooks(std::move(hooks));
  if (strategy_.service() != Placement::kNone && net_.rank() == info_.server) make_service();
  if (!callbacks_.update) worker_->make_own_optimizer();
  engine_ = std::thread([this] { run_engine(); });
}

Session::Session(join::RunContext& context, Options setting, std::span<const float> initial_model,
                 Callbacks callbacks)
    : Session(context.loop(), context.net(), context.strategy(),
              in_run(context.environment(), std::move(setting)), initial_model, std::move(callbacks)) {}

void Session::make_service() {
  service_ = std::make_unique<RealService>(info_, net_, stream_of(setting_.seed, setting_.workers),
                                           checkpoint_state_);
  background_->include(*service_);
}

Session::~Session() {
  if (!over_) loop_.post([this] { abandoned_.set(); });
  engine_.join();
}

std::span<float> Session::parameters() { return floats(worker_->parameters()); }
std::span<float> Session::gradients() { return floats(worker_->gradients()); }

bool Session::next() {
  while (!over_) {
    const UserRequest request = requests_.take();
    if (request.kind == UserRequest::Kind::kBatch) {
      batch_.begin();
      step_ = request.step;
      return true;
    }
    serve(request);
  }
  if (error_) std::rethrow_exception(error_);
  return false;
}

void Session::serve(const UserRequest& request) {
  if (request.kind == UserRequest::Kind::kCall) {
    request.call();
    loop_.post([this] { worker_->called(); });
  } else if (request.kind == UserRequest::Kind::kUpdate) {
    apply(request);
    loop_.post([this] { worker_->updated(); });
  } else {
    over_ = true;
  }
}

void Session::use(Slice sections) {
  const std::size_t all = setting_.worker.sections.size();
  if (sections.begin > sections.end || sections.end > all) {
    throw InvalidArgument(
        concat("sections [", sections.begin, ", ", sections.end, ") of a model that has ", all));
  }
  batch_.use(sections, all);
  wait_for(sections);
}

void Session::flush() { wait_for({0, setting_.worker.sections.size()}); }

void Session::wait_for(Slice sections) {
  if (over_) return;
  while (sections.begin < sections.end && worker_->through(sections.begin)) ++sections.begin;
  if (sections.empty()) return;
  loop_.post([this, sections] { worker_->want(sections); });
  for (UserRequest request = requests_.take(); request.kind != UserRequest::Kind::kThrough;
       request = requests_.take()) {
    serve(request);
    if (!over_) continue;
    if (error_) std::rethrow_exception(error_);
    return;
  }
}

Share Session::next_share(std::uint64_t epoch, std::uint64_t batches) {
  return shares_.next(loop_, {epoch, batches});
}

void Session::expect(std::size_t samples) {
  batch_.expect(samples);
  if (samples == 0) clear_gradients();
  loop_.post([this, samples] { worker_->expect(samples); });
}

// Those that are the user's: the others are cleared when they are let through without being used.
void Session::clear_gradients() {
  for (std::size_t i = 0; i < setting_.worker.sections.size(); ++i) {
    const strategy::Section& section = setting_.worker.sections[i];
    const std::span<float> gradient = gradients().subspan(section.offset, section.count);
    if (worker_->through(i)) std::fill(gradient.begin(), gradient.end(), 0.0F);
  }
}

void Session::section_ready(std::size_t section) {
  if (!worker_->wants_sections()) return;
  batch_.ready(section, setting_.worker.sections);
  if (!worker_->through(section)) {
    throw Error(concat("section ", section, " (", setting_.worker.sections[section].name,
                       ") was asked for before it was used in the last step, and in this one not"));
  }
  if (!batch_.rate()) {
    batch_.tell_rate(learning_rate());
    loop_.post([this, rate = *batch_.rate()] { worker_->expect_rate(rate); });
  }
  loop_.post([this, section] { worker_->section_ready(section); });
}

void Session::computed(Batch batch) {
  batch.learning_rate = learning_rate();
  batch_.check(batch, setting_.worker.equal_batches);
  if (batch.samples == 0 && !batch_.expected()) clear_gradients();
  loop_.post([this, batch, used = batch_.used()] { worker_->batch_computed(batch, used); });
}

void Session::finish() {
  if (!over_) loop_.post([this] { worker_->no_more_batches(); });
  while (next()) {
  }
}

void Session::stop() {
  loop_.post([weak = std::weak_ptr(background_)] {
    if (const auto background = weak.lock()) background->wish_end();
  });
}

std::vector<record::RankRecord> Session::collect() {
  if (!over_) throw Error(concat("rank ", net_.rank(), ": the run is not over, there is no record yet"));
  return collected_.valid() ? collected_.get() : std::vector<record::RankRecord>();
}

Duration Session::elapsed() const { return std::max(Duration(0), loop_.now() - origin_.load()); }

void Session::apply(const UserRequest& request) {
  if (callbacks_.update) return callbacks_.update(request.part, request.step);
  optim::Optimizer& optimizer = worker_->flat_optimizer();
  if (request.step != updated_step_) {
    optimizer.set_learning_rate(request.learning_rate);
    optimizer.advance();
    optimizer.clip(gradients());
  }
  updated_step_ = request.step;
  optimizer.apply(request.part, parameters(), gradients());
}

void Session::run_engine() {
  try {
    runtime::run(loop_, live(), concat("rank ", net_.rank()));
  } catch (...) {
    end(std::current_exception());
  }
  hand_over_records();
}

void Session::hand_over_records() {
  if (records_given_) return;
  records_given_ = true;
  records_.set_value(background_->take_records());
}

// Tells the user's thread once.
void Session::end(std::exception_ptr error) {
  if (told_) return;
  told_ = true;
  error_ = std::move(error);
  shares_.close(error_);
  requests_.ask({.kind = UserRequest::Kind::kEnd});
}

// Whoever ends first ends the others: the work, the service by failing, the user by going away.
Task<> Session::live() {
  std::span<const std::byte> saved;
  if (setting_.resume) saved = setting_.resume->server;
  co_await agree_on_model(net_, info_);
  if (net_.rank() == 0 && net_.size() > setting_.workers)
    co_await hand_over_state(net_, setting_.workers, saved);
  co_await agree_on_rest(net_, info_.everyone, callbacks_, setting_.own_models);
  if (!setting_.own_models) {
    strategy::copy(Data{std::span<float>(info_.initial_model)}, worker_->parameters());
  }
  const Time origin = co_await common_origin(net_);
  origin_ = origin;
  background_->begin(origin);
  const auto wait_for_user = [](Session& self) -> Task<> { co_await self.abandoned_; };
  runtime::Scope scope(co_await runtime::this_context());
  scope.race();
  worker_->set_company(scope);
  if (service_) scope.spawn(for_ever(strategy_.serve(*service_)), "service");
  scope.spawn(background_->run(), "beside");
  if (setting_.dynamic_shares) scope.spawn(shares_.run(net_), "shares");
  scope.spawn(work(), "strategy");
  scope.spawn(wait_for_user(*this), "user");
  co_await scope.join();
}

Task<> Session::work() {
  std::exception_ptr error;
  try {
    co_await strategy_.run(*worker_);
  } catch (...) {
    error = std::current_exception();
  }
  co_await background_->conclude(error);
  end(error);
  co_await background_->see_off(error);
  hand_over_records();
  if (error) std::rethrow_exception(error);
  co_await exit_barrier(net_);
}

void serve(transport::Transport& net, const strategy::Strategy& strategy, const Session::Options& setting) {
  strategy::RunInfo info = make_place(setting, strategy.service(), net.size());
  runtime::run(net.scheduler(), serve_rank(net, strategy, info, setting), concat("rank ", net.rank()));
}

void serve(join::RunContext& context, Session::Options setting) {
  serve(context.net(), context.strategy(), in_run(context.environment(), std::move(setting)));
}

}  // namespace starling::session
