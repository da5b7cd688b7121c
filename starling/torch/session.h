// Three lines make a LibTorch program a worker of a Starling run:
//
//   auto session = starling::torch::Session(model, optimizer);    // joins the run it was started in
//   for (auto& batch : *session.shard(loader)) {                  // this worker's part
//     auto loss = loss_fn(model->forward(batch.data), batch.target);
//     loss.backward();
//     session.step(loss);                                         // the strategy decides what happens here
//   }
//
// Started by `starling launch -n 4 -- ./program` it is one of four workers; started alone it is a run of one.
// The launcher chooses the strategy and its options. The program need not call zero_grad() or
// optimizer.step(): the session zeroes the gradients, and the optimiser makes its step when the strategy says
// so. docs/libtorch.md has the rules for models, optimisers, data and threads.
//
// Some strategies (`dear`, `allreduce --schedule priority`) complete an update during the next forward pass.
// They gain by it if the forward pass says what it is about to use, by ready() or with a GatedSequential
// (starling/torch/gated_sequential.h).
#pragma once

#include <torch/torch.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "starling/optim/optimizer.h"
#include "starling/record/run_record.h"
#include "starling/session/batch_assignment.h"
#include "starling/strategy/batch/portion.h"
#include "starling/torch/session_options.h"
#include "starling/torch/shard.h"
#include "starling/torch/stored_model.h"

namespace starling::torch {

// A module, a pointer to one or a LibTorch holder of one.
template <class Module>
auto& module_of(Module& model) {
  if constexpr (std::derived_from<std::remove_const_t<Module>, ::torch::nn::Module>) {
    return model;
  } else {
    return *model;
  }
}

class Session {
 public:
  // The model may be a module, a pointer to one or a LibTorch holder of one; model and optimiser must outlive
  // the session. Everybody starts with rank 0's model. InvalidArgument for a model or an optimiser that the
  // strategy cannot train.
  //
  // A strategy such as `ps` may have a process that only serves. There the constructor serves until the run
  // is over and then ends the process with exit code 0. A program that wants to do something else there calls
  // serve_if_service() first.
  template <class Module>
  Session(Module& model, ::torch::optim::Optimizer& optimizer, SessionOptions options = {})
      : Session(std::move(options), module_of(model), &optimizer, nullptr) {}
  // The same with an optimiser of the engine, which every strategy can use and which checkpoints contain.
  template <class Module>
  Session(Module& model, const optim::OptimizerSpec& optimizer, SessionOptions options = {})
      : Session(std::move(options), module_of(model), nullptr, &optimizer) {}
  // Ends this worker's part as finish() does, except that an error is logged. If an exception leaves the
  // session's scope, this worker is lost to the others.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const;
  int workers() const;
  // Whether the strategy wants a further batch.
  bool more() const;
  // The step that the next batch belongs to, counted from 1; a run that resumes goes on counting.
  std::uint64_t next_step() const;

  // An epoch's batches for this worker, from any loader that has the same batches in the same order in all
  // processes; a random sampler has, because it is seeded by the session and the epoch. Every call is an
  // epoch. `batches` is how many the loader has: needed for dynamic shards, and counted by going through the
  // loader once if it is not given. In a run that resumes, the batches that were trained before are left out.
  template <class Loader>
  Shard<Session, Loader> shard(Loader& loader, std::optional<std::uint64_t> batches = {}) {
    return {*this, loader, next_epoch(), batches};
  }
  // The number of pieces that the strategy cuts a batch in. More than one: a step has as many of them as fit.
  // Then shards are dynamic, and shard() gives out pieces instead of batches.
  std::uint64_t pieces() const;
  // For programs that fetch their data themselves: how many shares the next step should have at most, so
  // many pieces computed as one; and whether what was computed last has to be computed again, before another
  // share is taken: the strategy has dropped it.
  std::uint64_t together() const;
  bool again() const;
  // The next batch of an epoch for programs that fetch their data themselves; with pieces, the next of
  // pieces() times as many. Each call takes a share.
  session::Share next_share(std::uint64_t epoch, std::uint64_t batches);
  // In a run that resumes, before the first share of an epoch: how many of its shares this worker has had.
  // None: all, and the question is then for the epoch after.
  std::optional<std::uint64_t> shares_trained(std::uint64_t batches);
  // The same: this worker's part of the global batch, where the strategy divides it by speed; shard() follows
  // it. The global batch is what all workers' shares with the same number have together.
  std::optional<strategy::Portion> portion() const;
  // How many samples the next step has, before its backward pass, and what part of a batch that is, which the
  // emulation of a speed needs to know; shard() says it by itself.
  void expect(std::size_t samples, double of_batch = 1);

  // The gradients of a batch are complete. Returns when the strategy wants the next, or when the run is over:
  // then false. `samples` is needed only where shard() does not know. Throws what the strategy threw,
  // and membership::Excluded if the others went on without this worker.
  bool step(const ::torch::Tensor& loss, std::optional<std::size_t> samples = {});
  bool step(double loss, std::size_t samples);
  // A step without a batch, where others have one.
  bool idle_step();
  // For the steps from here on, with an optimiser of the engine. Before the backward pass.
  void set_learning_rate(double rate);

  // In a forward pass: it is about to use the parameters of this module and of all in it. Waits until they
  // are those of this step. ready() is optional; without it, all parameters are current when step() returns.
  // If a pass asks for a module in one step, it must do so in every later step that uses it. Without
  // gradients, as in an evaluation, it waits for the whole model and promises nothing.
  template <class Module>
  void ready(Module&& module) {
    use(module_of(module));
  }
  // Waits until the whole model is that of this step, before the program evaluates or saves it.
  void flush();
  // The mean over the living workers' models, for an evaluation or a file: parameters and buffers by their
  // names in the module. Any worker may call it at any time before the end; the training is not disturbed.
  // The others' models may be SessionOptions::publish_every old.
  NamedTensors mean();

  // There are no more data. The model, its buffers included, is then the mean over the workers that live, or
  // this worker's own (SessionOptions::final_model). With SessionOptions::out, waits for the end of the run:
  // the lowest worker that lives writes its files.
  void finish();
  // Asks for the end of the run after the step. From any thread.
  void stop();
  // Since all workers began. From any thread.
  Duration elapsed() const;
  // After finish(), once, if SessionOptions::keep_record is set. On the lowest worker that lives, the records
  // of all ranks. The others wait until that worker's session has ended, and get nothing, unless it is lost
  // before: then the next one gets them.
  std::vector<record::RankRecord> collect();
  // A remark for the user if the emulated speed could not be kept; empty: it was.
  std::string emulation_complaint() const;

 private:
  template <class, class>
  friend class Shard;
  struct Parts;

  Session(SessionOptions options, ::torch::nn::Module& module, ::torch::optim::Optimizer* optimizer,
          const optim::OptimizerSpec* spec);

  void use(const ::torch::nn::Module& module);
  void begin();
  bool advance();
  std::uint64_t next_epoch();
  const SessionOptions& options() const;
  // In a run that resumes. True: the next batch of this worker was trained before.
  bool skip_batch();

  std::unique_ptr<Parts> parts_;
};

// In a process that is there for the strategy's service only: serves until the run is over and returns true.
// Elsewhere it returns false at once. Takes what the session is given.
bool serve_if_service(::torch::nn::Module& module, const ::torch::optim::Optimizer& optimizer,
                      const SessionOptions& options = {});
template <class Module>
requires(!std::derived_from<Module, ::torch::nn::Module>) bool serve_if_service(
    Module& model, const ::torch::optim::Optimizer& optimizer, const SessionOptions& options = {}) {
  return serve_if_service(module_of(model), optimizer, options);
}

}  // namespace starling::torch
