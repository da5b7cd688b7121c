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
// The strategy and its options are the launcher's business. The program need not call zero_grad() or
// optimizer.step(): the session zeroes the gradients, and the optimiser makes its step when the strategy says
// so. docs/libtorch.md has the rules for models, optimisers, data and threads.
//
// Some strategies (`dear`, `allreduce --schedule priority`) complete an update during the next forward pass.
// They gain by it if the forward pass says what it is about to use, by ready() or with a GatedSequential
// (starling/torch/gated.h).
#pragma once

#include <torch/torch.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "starling/join/run_context.h"
#include "starling/session/session.h"
#include "starling/torch/replica.h"
#include "starling/torch/section_optimizer.h"
#include "starling/torch/shard.h"

namespace starling::torch {

struct SessionOptions {
  bool dynamic_shards = false;  // whoever is ready takes the next batch; else all get equally many
  bool equal_batches = false;   // all batches of all workers have equally many samples: means need no weights
  std::uint64_t seed = 1;       // of the order of the data; the same on all workers
  double clip_norm = 0;  // largest 2-norm of a step's mean gradient, which is scaled down to it; 0: any
};

class Session {
 public:
  // The model may be a module, a pointer to one or a LibTorch holder of one; model and optimiser must outlive
  // the session. Everybody starts with rank 0's model. InvalidArgument for a model or an optimiser that the
  // strategy cannot train. In a process that is there for the strategy's service only, this serves until the
  // run is over and then ends the process with exit code 0.
  template <class Module>
  Session(Module& model, ::torch::optim::Optimizer& optimizer, SessionOptions options = {})
      : Session(options, module_of(model), optimizer) {}
  // Ends this worker's part as finish() does, but for an error in it, which is logged; if it is left by an
  // exception, this worker is lost to the others.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const { return context_.environment().rank; }
  int workers() const { return context_.environment().workers; }
  // Whether the strategy wants a further batch.
  bool more() const { return more_; }

  // An epoch's batches for this worker, from any loader that has the same batches in the same order in all
  // processes; a random sampler has, because it is seeded by the session and the epoch. Every call is an
  // epoch. `batches` is how many the loader has: needed for dynamic shards, and counted by going through the
  // loader once if it is not given.
  template <class Loader>
  Shard<Session, Loader> shard(Loader& loader, std::optional<std::uint64_t> batches = {}) {
    return {*this, loader, epoch_++, batches};
  }

  // The gradients of a batch are there. Returns when the strategy wants the next, or when the run is over:
  // then false. `samples` is needed only where shard() does not know. Throws what the strategy threw.
  bool step(const ::torch::Tensor& loss, std::optional<std::size_t> samples = {});
  bool step(double loss, std::size_t samples);

  // In a forward pass: it is about to use the parameters of this module and of all in it, of a module, a
  // pointer or a holder as above. Waits until they are those of this step. A pass that asked for a module in
  // the last step must do so in this one, if it uses it; one that asks for nothing finds all complete.
  // Without gradients, as in an evaluation, it waits for the whole model and promises nothing. Nothing is
  // waited for when the run is over.
  template <class Module>
  void ready(Module&& module) {
    use(module_of(module));
  }
  // Before the program looks at the whole model, to evaluate or to save it: waits until it is that of this
  // step.
  void flush();

  // There are no more data. The model is this worker's last.
  void finish();

 private:
  template <class, class>
  friend class Shard;

  Session(const SessionOptions& options, ::torch::nn::Module& module, ::torch::optim::Optimizer& optimizer);

  template <class Module>
  static auto& module_of(Module& model) {
    if constexpr (std::derived_from<std::remove_const_t<Module>, ::torch::nn::Module>) {
      return model;
    } else {
      return *model;
    }
  }

  void use(const ::torch::nn::Module& module);
  bool advance();
  session::Session& engine() { return *session_; }
  const SessionOptions& options() const { return options_; }
  // How many samples the next step has.
  void expect(std::size_t samples);
  // Steps of a worker that has no batch where others have one.
  void idle_step();

  SessionOptions options_;
  join::RunContext context_;
  std::unique_ptr<session::Session> session_;  // holds the memory that the replica is bound to
  Replica replica_;
  SectionOptimizer optimizer_;
  std::optional<std::size_t> expected_;
  std::uint64_t epoch_ = 0;
  bool more_ = false;
  int exceptions_;
};

}  // namespace starling::torch
