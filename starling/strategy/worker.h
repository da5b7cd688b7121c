// Everything that a strategy sees of the world it runs in. There are two worlds: simulated ranks on virtual
// time (sim/) and real processes (session/). A strategy cannot tell them apart.
//
// Data may be a ghost, which has a size and no memory (collective::Data): code with arithmetic of its own on
// parameters skips it for ghosts; sending, averaging and updating work on both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/core/partition.h"
#include "starling/core/random.h"
#include "starling/membership/membership.h"
#include "starling/optim/optimizer.h"
#include "starling/record/journal.h"
#include "starling/runtime/event.h"
#include "starling/runtime/task.h"
#include "starling/strategy/batch/portion.h"
#include "starling/strategy/section.h"
#include "starling/transport/transport.h"

namespace starling::strategy {

using collective::Data;
using runtime::Task;
using transport::Transport;

// Memory of its own for `data`; none for a ghost.
struct Buffer {
  transport::Memory memory;
  Data data;
};

// The elements of data that is not a ghost.
inline std::span<float> floats(Data data) { return {reinterpret_cast<float*>(data.bytes), data.count}; }

void copy(Data from, Data to);

// For messages and Member::keep.
template <class Plain>
std::span<std::byte> bytes_of(Plain& value) {
  static_assert(std::is_trivially_copyable_v<Plain>);
  return std::as_writable_bytes(std::span<Plain, 1>(&value, 1));
}

// The common part of a worker and a service. It belongs to the thread of its scheduler.
class Member {
 public:
  virtual ~Member() = default;

  virtual Transport& net() = 0;
  Rank rank() { return net().rank(); }
  Time now() { return net().scheduler().now(); }

  // Ranks 0 to workers()-1 train; a rank after them only serves.
  virtual int workers() const = 0;
  virtual collective::SharedGroup everyone() const = 0;
  // The rank of the strategy's service: rank 0 or the one after the workers.
  virtual Rank server() const = 0;
  // The host of a rank.
  virtual int host_of(Rank rank) const = 0;

  // Whether the worker is present from the beginning; if not, it may join later.
  virtual bool starts(Rank worker) const = 0;
  bool lost(Rank rank) { return net().lost(rank); }
  // The agreed membership of the workers; null where a loss ends the exchanges of all workers.
  virtual membership::Membership* membership() { return nullptr; }

  // The tensors of the model, in its order.
  virtual const std::vector<Section>& sections() const = 0;

  // The random numbers of this member alone.
  virtual Random& random() = 0;
  virtual record::Journal& journal() = 0;

  // `count` elements like those of the model, a ghost if the model is one.
  virtual Buffer allocate(std::size_t count) = 0;
  // The same, never a ghost: numbers that decide how the strategy goes on.
  virtual Buffer allocate_numbers(std::size_t count) { return allocate(count); }
  // A copy of the model that every worker starts from.
  virtual Buffer initial_model() = 0;

  // An optimiser with the run's hyper-parameters for a vector that is not a worker's replica: a server's
  // model, a shard. InvalidArgument, naming it, if the worker's own optimiser has no such form.
  virtual std::unique_ptr<optim::Optimizer> make_optimizer(std::size_t count) = 0;

  // This member has read and written so many bytes of memory that ranks of its host share. On virtual time
  // that takes time; on real time it has taken it.
  virtual Task<> pass_memory(std::size_t bytes);

  // Registers state that a checkpoint must contain besides the worker's model and optimiser, as long as the
  // caller lives. In a run that continues from a checkpoint `state` has its old value when the call returns.
  virtual void keep(std::string_view name, std::span<std::byte> state);
};

// Is informed about a step while it runs, by section of the model. Calls come on the member's thread.
class StepListener {
 public:
  virtual ~StepListener() = default;
  // The step begins now and is counted: compute() will not return false.
  virtual void begins() {}
  // Awaited before the forward pass uses the section's parameters, and for all sections before the first
  // gradient is ready. Until it has returned, the parameters and gradients of the section belong to the
  // listener.
  virtual Task<> before_forward(std::size_t section);
  // The section's gradient is complete, and belongs to the listener: roughly in reverse order. Where batches
  // are unequal, the step's samples are known. If a batch is cut in pieces, all sections are complete after
  // the last one.
  virtual void gradient_ready(std::size_t section);

  // Awaited between two steps before anything looks at the whole model: when it returns, all transfers of the
  // step before have arrived.
  virtual Task<> settle();

  // False: before_forward and gradient_ready need not be called.
  virtual bool by_section() const { return true; }
  // For the record: neighbouring sections of the same part are noted as one.
  virtual std::size_t part_of(std::size_t section) const { return section; }
};

// How to run a step.
struct StepPlan {
  // This worker's part of the global batch; none: a batch like the others'.
  std::optional<Portion> portion = {};
  // The number of micro-batches. The gradient is the mean over the samples of those that were run.
  int pieces = 1;
  // Asked before each pass: how many of the pieces it computes as one. Null: one.
  std::function<int()> together = {};
  // Asked between two passes: true leaves the rest of the batch for later steps.
  std::function<bool()> stop = {};
  // When it is set, the step ends without the piece that is under way, which a later step computes again. If
  // it is the first one, the step has no samples. Null: a piece that has begun is finished.
  runtime::Event* drop = nullptr;
  // False: a step needs data. True: a worker whose data are over asks for the end of the run, and makes steps
  // without samples as long as the others make any.
  bool outlasts_data = false;
  StepListener* listener = nullptr;

  // Whether a step that has run so many pieces ends now. It has at least one unless pieces may be dropped.
  bool ends_after(int done) const {
    if (done >= pieces || (drop != nullptr && drop->is_set())) return true;
    return (done > 0 || drop != nullptr) && stop && stop();
  }
  // The pieces of the pass that follows so many.
  int next_pass(int done) const { return together ? std::clamp(together(), 1, pieces - done) : 1; }
};

inline const StepPlan kWholeStep{};

// A member that trains. Between the call of compute() and its end the parameters may be read but not written,
// and the gradients must not be touched before their section is ready: the user's thread works with them. The
// exceptions are sections that a listener has not let through yet (before_forward), and those whose gradient
// is ready: a backward pass has no more use for their parameters. Any other exchange meanwhile works on a
// buffer of its own and is reconciled when compute() is over.
class Worker : public Member {
 public:
  virtual Data parameters() = 0;
  virtual Data gradients() = 0;

  // One batch: forward and backward; afterwards the gradients hold the mean over its samples. False when the
  // run is over; then nothing was computed.
  Task<bool> compute() { return compute(kWholeStep); }
  // The plan must live until the step is over.
  virtual Task<bool> compute(const StepPlan& plan) = 0;

  // Returns when nobody reads the parameters any more: after a step whose last piece was dropped the user's
  // thread may do so for a while. update() waits for it by itself.
  virtual Task<> parameters_free();

  // Runs the worker's own optimiser, maybe the user's, on the user's thread.
  virtual Task<> update() = 0;
  // The same for a part of the model, whole sections, with the gradients of the step of this number. The
  // parts of one step may come in any order, even after the next step has begun, as long as it has not let
  // their sections through. If gradients are clipped, all of the step's must have arrived when the first part
  // comes.
  virtual Task<> update(Slice part, std::uint64_t step) = 0;
  // An optimiser of the whole model that works at once, on this thread, and must not be mixed with update().
  // InvalidArgument if the worker's own has no such form.
  virtual optim::Optimizer& flat_optimizer() = 0;
  virtual bool has_flat_optimizer() const = 0;
  // The largest norm of a step's gradient, to which update() scales it down; 0: any.
  virtual double clip_norm() const = 0;
  // Runs beside the worker and after its run() has returned, until the last worker has finished: it answers
  // others, which may need that longer than this worker trains. An exception of the task ends the worker's
  // run.
  virtual void beside(Task<> task, std::string name) = 0;

  // The state vectors of the optimiser, as long as the model; empty if it has none yet or does not show them.
  virtual std::vector<Data> optimizer_state() = 0;
  // The rate that update() uses now; code that updates elsewhere uses the same. Known when a section's
  // gradient is ready.
  virtual double learning_rate() const = 0;
  // The rate of the next update, where it must be that of other workers. An optimiser of the user's has its
  // own.
  virtual void set_learning_rate(double rate) = 0;

  // Before its next step the worker will pause until all others have made as many, as for a checkpoint. A
  // worker that would delay them meanwhile first does what they wait for.
  virtual bool rests_next() const { return false; }

  // The number of the last step, counted from 1; its samples, pieces and mean loss (NaN if unknown). Where
  // batches are unequal a step may have no samples; its gradient is 0.
  virtual std::uint64_t step() const = 0;
  virtual std::size_t samples() const = 0;
  virtual int pieces() const = 0;
  virtual double loss() const = 0;
  // Whether all workers' steps always have the same number of samples, so that means need no weights.
  virtual bool equal_batches() const = 0;

  // Whether steps whose gradient is not finite weigh nothing, so that means need weights all the same; and
  // whether this step is one as far as its gradient is ready. When it is over, it has no samples.
  virtual bool skips_steps() const { return false; }
  virtual bool skipped() const { return false; }
};

}  // namespace starling::strategy
