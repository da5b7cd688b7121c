#include "starling/torch/session.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "starling/core/error.h"
#include "starling/core/log.h"
#include "starling/join/run_context.h"
#include "starling/runtime/run.h"
#include "starling/session/progress_text.h"
#include "starling/session/service_rank.h"
#include "starling/session/session.h"
#include "starling/session/startup_sync.h"
#include "starling/torch/forward_wait.h"
#include "starling/torch/optimizer_translation.h"
#include "starling/torch/program_state.h"
#include "starling/torch/replica.h"
#include "starling/torch/resume_position.h"
#include "starling/torch/run_files.h"
#include "starling/torch/section_optimizer.h"
#include "starling/torch/speed_emulator.h"
#include "starling/torch/strategy_keys.h"

namespace starling::torch {

namespace {

enum Stream : std::uint64_t { kSpeedStream = 1 };

session::SessionOptions engine_options(const Replica& replica, const SessionOptions& options,
                                       const ::torch::optim::Optimizer* optimizer,
                                       const optim::OptimizerSpec* spec) {
  session::SessionOptions engine;
  engine.sections = replica.sections();
  engine.equal_batches = options.equal_batches;
  engine.nonfinite = options.nonfinite;
  engine.dynamic_shares = options.dynamic_shards;
  engine.seed = options.seed;
  engine.steps = options.steps.value_or(engine.steps);
  engine.until = options.max_time;
  engine.final_model = options.final_model;
  engine.publish_every = options.publish_every;
  engine.keep_record = options.keep_record || !options.out.empty();
  engine.record = options.record;
  engine.report = options.progress || options.on_progress || !options.out.empty();
  engine.snapshot_every = options.snapshot_every;
  engine.save_every = options.checkpoint_every;
  engine.check_sync = options.check_sync;
  try {
    engine.optimizer = spec != nullptr ? *spec : to_flat_optimizer(*optimizer);
  } catch (const InvalidArgument& error) {
    engine.no_flat_optimizer = error.what();
  }
  if (spec == nullptr) engine.optimizer.clip_norm = options.clip_norm;
  return engine;
}

data::RunKeys keys_of(const SessionOptions& options, const join::RunEnvironment& environment,
                      const Replica& replica) {
  data::RunKeys keys = options.checkpoint_keys;
  keys.merge(strategy_keys(environment.strategy, environment.options, environment.workers));
  keys.insert({"seed", std::to_string(options.seed)});
  if (options.checkpoint_keys.empty()) keys["parameters"] = std::to_string(replica.size());
  return keys;
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

// All workers go on from the same step.
std::uint64_t lowest_of_workers(join::RunContext& context, std::uint64_t step) {
  transport::Transport& net = context.net();
  const int workers = context.environment().workers;
  return runtime::run(net.scheduler(), session::lowest_of(net, workers, step), concat("rank ", net.rank()));
}

ResumePosition::Shares shares_of(const SessionOptions& options, const strategy::Strategy& strategy) {
  if (!options.dynamic_shards) return ResumePosition::Shares::kEqual;
  return strategy.lockstep() && strategy.pieces() == 1 ? ResumePosition::Shares::kDynamicLockstep
                                                       : ResumePosition::Shares::kDynamic;
}

}  // namespace

struct Session::Parts {
  Parts(SessionOptions given, ::torch::nn::Module& trained, ::torch::optim::Optimizer* users)
      : own_context(given.context == nullptr ? std::make_unique<join::RunContext>() : nullptr),
        context(own_context ? *own_context : *given.context),
        options(with_launcher_options(std::move(given), environment().output)),
        module(trained),
        replica(trained),
        optimizer(users) {
    if (users != nullptr) updates.emplace(*users, replica, options.clip_norm);
    if (!environment().trains()) return;
    if (options.dynamic_shards && !context.strategy().equal_batches()) {
      throw InvalidArgument(
          "dynamic shards, but the strategy divides each global batch by speed; allowed: equal shards");
    }
    if (pieces() > 1) options.dynamic_shards = true;
    if (pieces() > 1 || !context.strategy().equal_batches()) options.equal_batches = false;
  }

  const join::RunEnvironment& environment() const { return context.environment(); }
  std::uint64_t pieces() const {
    return environment().trains() ? static_cast<std::uint64_t>(context.strategy().pieces()) : 1;
  }
  // One if the program does not ask for shares.
  int pieces_taken() const { return pieces() > 1 ? std::max(taken, 1) : 1; }
  Time now() const { return Time(engine->elapsed()); }
  // A machine of its own would have begun when the strategy let it go on: this thread may have waited for a
  // core until now.
  void begin_emulated_step() {
    emulator->begin(std::max(now() - engine->free_for(), Time{}), engine->step());
  }
  session::Callbacks callbacks();
  void save(const session::Save& what);
  std::vector<float> initial_model();
  void show(const std::vector<session::Progress>& workers);
  void note(const std::vector<session::Progress>& workers);

  std::unique_ptr<join::RunContext> own_context;
  join::RunContext& context;
  SessionOptions options;
  ::torch::nn::Module& module;
  ResumePosition position;
  std::optional<std::size_t> expected;
  int taken = 0;  // shares, for this step
  std::uint64_t epoch = 0;
  bool more = false;
  bool written = false;
  int exceptions = std::uncaught_exceptions();
  // For the engine's thread, which may be ahead of the constructor and lives as long as `engine`.
  std::atomic<const session::Session*> running = nullptr;
  std::optional<RunFiles> files;
  Duration shown{};
  std::unique_ptr<session::Session> engine;  // holds the memory that the replica is bound to
  Replica replica;
  ::torch::optim::Optimizer* optimizer;     // null: the engine's
  std::optional<SectionOptimizer> updates;  // with an optimiser of the program
  std::optional<SpeedEmulator> emulator;
};

session::Callbacks Session::Parts::callbacks() {
  session::Callbacks callbacks;
  callbacks.extras = replica.extras();
  callbacks.fixed = replica.fixed();
  if (optimizer != nullptr) {
    callbacks.learning_rate = [this] { return learning_rate(*optimizer); };
    callbacks.update = [this](Slice part, std::uint64_t step) { updates->update(part, step); };
  }
  callbacks.save = [this](const session::Save& what) { save(what); };
  callbacks.saved = [this](const session::Saved& saved) { files->commit(saved); };
  callbacks.snapshot = options.on_snapshot;
  callbacks.keep_snapshot = options.on_kept_snapshot;
  callbacks.show = [this](const std::vector<session::Progress>& workers) { show(workers); };
  callbacks.keep_progress = [this](const std::vector<session::Progress>& workers) { note(workers); };
  return callbacks;
}

// For the files, in case this worker has to write them.
void Session::Parts::note(const std::vector<session::Progress>& workers) {
  if (const session::Session* const session = running) files->note_progress(workers, session->elapsed());
}

void Session::Parts::show(const std::vector<session::Progress>& workers) {
  const session::Session* const session = running;
  if (session == nullptr) return;
  const Duration elapsed = session->elapsed();
  files->note_progress(workers, elapsed);
  if (options.on_progress) options.on_progress(workers, elapsed);
  if (!options.progress) return;
  // The launcher decides how often a line is shown.
  const Duration every = std::chrono::seconds(environment().output.progress ? 0 : 5);
  if (elapsed < shown + every) return;
  shown = elapsed;
  const std::string text =
      session::progress_text(workers, elapsed, {.steps = options.steps, .time = options.max_time});
  std::fprintf(stderr, "%s%s\n", std::string(join::kProgressPrefix).c_str(), text.c_str());
}

void Session::Parts::save(const session::Save& what) {
  data::WorkerState state;
  const auto parameters = engine->parameters();
  state.parameters.assign(parameters.begin(), parameters.end());
  session::append_extras(state.extras, replica.extras());
  if (!all_finite(state.parameters) || !all_finite(state.extras))
    throw Error("the model has values that are not finite");
  state.kept = what.kept;
  state.server = what.server;
  state.program = save_program_state(optimizer);
  files->save(what.step, state);
}

// In a run that resumes, all that this rank had, or the one whose part it takes.
std::vector<float> Session::Parts::initial_model() {
  const std::optional<data::WorkerState>& resumed = files->resumed();
  if (!resumed) return replica.values();
  std::size_t extras = 0;
  for (const std::span<float> extra : replica.extras()) extras += extra.size();
  if (resumed->parameters.size() != replica.size() || resumed->extras.size() != extras)
    throw InvalidArgument("--resume: the checkpoint is of another model");
  const float* from = resumed->extras.data();
  for (const std::span<float> extra : replica.extras()) {
    std::copy_n(from, extra.size(), extra.begin());
    from += extra.size();
  }
  return resumed->parameters;
}

Session::Session(SessionOptions options, ::torch::nn::Module& module, ::torch::optim::Optimizer* optimizer,
                 const optim::OptimizerSpec* spec)
    : parts_(std::make_unique<Parts>(std::move(options), module, optimizer)) {
  Parts& parts = *parts_;
  const join::RunEnvironment& environment = parts.environment();
  session::SessionOptions engine = engine_options(parts.replica, parts.options, optimizer, spec);
  if (!environment.trains()) {
    session::run_service(parts.context, std::move(engine));
    std::exit(0);
  }
  parts.files.emplace(parts.options, environment, keys_of(parts.options, environment, parts.replica),
                      [&parts](std::uint64_t step) { return lowest_of_workers(parts.context, step); });
  if (parts.files->resumed()) {
    engine.resume = session::Resume{parts.files->resumed_steps(), parts.files->resumed()->kept,
                                    parts.files->resumed()->server, parts.files->resumed_from_another()};
    engine.own_models = true;
  }
  parts.position =
      ResumePosition(parts.files->resumed_steps(), environment.rank, environment.workers,
                     shares_of(parts.options, parts.context.strategy()), parts.files->resumed_position());
  if (parts.options.emulate) {
    parts.emulator.emplace(
        *parts.options.emulate, environment.rank, parts.options.pace,
        Random(parts.options.seed).fork(kSpeedStream).fork(static_cast<std::uint64_t>(environment.rank)),
        parts.replica.sections());
  }
  parts.engine = std::make_unique<session::Session>(parts.context, std::move(engine), parts.initial_model(),
                                                    parts.callbacks());
  parts.running = parts.engine.get();
  begin();
}

// The memory is this thread's from the first request for a batch on.
void Session::begin() {
  Parts& parts = *parts_;
  parts.more = parts.engine->next();
  parts.replica.bind(parts.engine->parameters(), parts.engine->gradients());
  parts.replica.set_usable([&parts](std::size_t section) { return parts.engine->usable(section); });
  const auto ready = [&parts](std::size_t section) { parts.engine->section_ready(section); };
  if (parts.emulator) {
    parts.replica.on_gradient(
        [&parts](std::size_t section) { parts.emulator->backward(section, parts.now()); });
    parts.emulator->on_gradient(ready);
    if (parts.more) parts.begin_emulated_step();
  } else {
    parts.replica.on_gradient(ready);
  }
  if (!parts.files->resumed()) return;
  load_program_state(parts.files->resumed()->program, parts.optimizer,
                     parts.files->resumed_from_another() ? RandomNumbers::kStay : RandomNumbers::kRestored);
}

Session::~Session() {
  if (std::uncaught_exceptions() > parts_->exceptions) return;
  try {
    finish();
  } catch (const std::exception& error) {
    stderr_log()(LogLevel::kError, error.what());
  }
}

int Session::rank() const { return parts_->environment().rank; }
int Session::workers() const { return parts_->environment().workers; }
bool Session::more() const { return parts_->more; }
std::uint64_t Session::next_step() const { return parts_->engine->step(); }
const SessionOptions& Session::options() const { return parts_->options; }
std::uint64_t Session::next_epoch() { return parts_->epoch++; }
std::uint64_t Session::pieces() const { return parts_->pieces(); }
std::optional<strategy::Portion> Session::portion() const { return parts_->engine->portion(); }
std::uint64_t Session::together() const { return static_cast<std::uint64_t>(parts_->engine->together()); }
bool Session::again() const { return parts_->engine->again(); }
bool Session::skip_batch() { return parts_->position.skip_one(); }

std::optional<std::uint64_t> Session::shares_trained(std::uint64_t batches) {
  return parts_->position.in_epoch(batches);
}

session::Share Session::next_share(std::uint64_t epoch, std::uint64_t batches) {
  const Duration asked = parts_->engine->elapsed();
  const session::Share share = parts_->engine->next_share(epoch, batches);
  if (parts_->emulator) parts_->emulator->waited(parts_->engine->elapsed() - asked);
  if (share.kind == session::Share::Kind::kBatch) ++parts_->taken;
  return share;
}

void Session::expect(std::size_t samples, double of_batch) {
  parts_->expected = samples;
  parts_->engine->expect(samples);
  if (parts_->emulator) parts_->emulator->compute_part(of_batch);
}

bool Session::step(const ::torch::Tensor& loss, std::optional<std::size_t> samples) {
  return step(loss.item<double>(), samples ? *samples : parts_->expected.value_or(1));
}

bool Session::step(double loss, std::size_t samples) {
  Parts& parts = *parts_;
  if (!parts.more) throw Error("step() after the end of the run");
  parts.replica.collect_gradients();
  if (parts.emulator) parts.emulator->end(parts.now());
  if (parts.updates) parts.updates->latch(parts.engine->step());
  parts.engine->computed({.samples = samples, .loss = loss, .pieces = parts.pieces_taken()});
  return advance();
}

bool Session::idle_step() {
  if (parts_->updates) parts_->updates->latch(parts_->engine->step());
  parts_->engine->computed({.samples = 0, .pieces = parts_->pieces_taken()});
  return advance();
}

bool Session::advance() {
  Parts& parts = *parts_;
  parts.expected.reset();
  parts.more = parts.engine->next();
  if (!parts.more) return false;
  if (!parts.engine->again()) parts.taken = 0;
  parts.replica.zero_gradients();
  if (parts.emulator) parts.begin_emulated_step();
  return true;
}

void Session::set_learning_rate(double rate) {
  if (parts_->optimizer != nullptr) {
    throw InvalidArgument(
        "set_learning_rate() with an optimiser of the program; allowed: set the rate of that optimiser");
  }
  parts_->engine->set_learning_rate(rate);
}

// An evaluation does not bind the forward passes of the training to ask as it does.
void Session::use(const ::torch::nn::Module& module) {
  Parts& parts = *parts_;
  if (!parts.more) return;
  if (!::torch::GradMode::is_enabled()) return flush();
  const std::vector<std::size_t> sections = parts.replica.sections_of(module);
  const Duration asked = parts.engine->elapsed();
  wait_for_sections(*parts.engine, parts.replica, sections);
  if (!parts.emulator) return;
  const Duration through = parts.engine->elapsed();
  parts.emulator->waited(through - asked);
  parts.emulator->forward(sections, Time(through));
}

void Session::flush() {
  if (parts_->more) wait_for_model(*parts_->engine, parts_->replica);
}

NamedTensors Session::mean() {
  flush();
  return parts_->replica.named(parts_->engine->mean());
}

void Session::finish() {
  Parts& parts = *parts_;
  if (parts.more) {
    parts.more = false;
    parts.engine->finish();
  }
  if (parts.written || parts.options.out.empty()) return;
  parts.written = true;
  std::vector<record::RankRecord> ranks = parts.engine->collect();
  if (!ranks.empty()) parts.files->write(std::move(ranks), named_tensors(parts.module));
  parts.engine->release();
}

void Session::stop() { parts_->engine->stop(); }
Duration Session::elapsed() const { return parts_->engine->elapsed(); }
std::vector<record::RankRecord> Session::collect() { return parts_->engine->collect(); }

std::string Session::emulation_complaint() const {
  return parts_->emulator ? parts_->emulator->complaint() : "";
}

bool serve_if_service(::torch::nn::Module& module, const ::torch::optim::Optimizer& optimizer,
                      const SessionOptions& options) {
  if (join::read_run_environment().trains()) return false;
  join::RunContext context;
  const Replica replica(module);
  const SessionOptions known = with_launcher_options(options, context.environment().output);
  session::run_service(context, engine_options(replica, known, &optimizer, nullptr));
  return true;
}

}  // namespace starling::torch
