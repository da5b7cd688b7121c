// Optimisers on flat vectors, for a server, a shard, or the simulator. The equations, their order and their
// rounding are those of PyTorch's plain loops (torch.optim.SGD, Adam and AdamW on one float32 tensor). Where
// it has kernels for the processor, they fuse multiplications with additions, and the last bits may differ
// from these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/core/partition.h"
#include "starling/optim/tensor_place.h"

namespace starling::optim {

// Learning rate and weight decay have one default for all kinds; the other defaults are PyTorch's.
struct OptimizerSpec {
  enum class Kind { kSgd, kAdam, kAdamW, kLars, kLamb };
  Kind kind = Kind::kSgd;
  double learning_rate = 0.01;
  double weight_decay = 0;      // SGD, Adam and LARS add it to the gradient; AdamW shrinks the weights
  double momentum = 0;          // SGD, LARS
  double dampening = 0;         // SGD
  bool nesterov = false;        // SGD, LARS
  double beta1 = 0.9;           // Adam, AdamW, LAMB
  double beta2 = 0.999;         // Adam, AdamW, LAMB
  double epsilon = 1e-8;        // Adam, AdamW, LAMB; with LAMB 1e-6 is usual
  double trust = 0.001;         // LARS: the trust coefficient
  bool exclude_vectors = true;  // LARS, LAMB: tensors of at most one dimension (biases, norms) are excluded
  double clip_norm = 0;         // a gradient whose 2-norm is larger is scaled down to it; 0: never

  bool operator==(const OptimizerSpec&) const = default;
};

// Whether the kind treats each tensor by itself, so that it needs to know them.
constexpr bool by_tensor(OptimizerSpec::Kind kind) {
  return kind == OptimizerSpec::Kind::kLars || kind == OptimizerSpec::Kind::kLamb;
}

// "sgd"
std::string_view name_of(OptimizerSpec::Kind kind);
// The inverse of name_of. Throws InvalidArgument naming `what` and the names.
OptimizerSpec::Kind parse_optimizer(std::string_view text, std::string_view what);

// InvalidArgument for values that PyTorch refuses too (a negative rate, nesterov without momentum, ...) and
// for values that are not finite. Values that the kind does not use are not checked.
void check(const OptimizerSpec& spec);

// The 2-norm, summed up in the order of the elements.
double norm_of(std::span<const float> gradient);
// The factor for a gradient of this norm, as in torch.nn.utils.clip_grad_norm_.
double clip_scale(double clip_norm, double norm);

class Optimizer {
 public:
  explicit Optimizer(double clip_norm) : clip_norm_(clip_norm) {}
  virtual ~Optimizer() = default;

  // One step of the whole vector.
  void step(std::span<float> x, std::span<const float> gradient) {
    advance();
    clip(gradient);
    apply({0, x.size()}, x, gradient);
  }

  // The same in parts, which may come in any order: advance() once, then, if gradients are clipped, clip() or
  // scale_gradients(), then apply() to disjoint parts. `x` and `gradient` are the whole vectors.
  virtual void advance() = 0;
  void clip(std::span<const float> gradient) {
    if (clip_norm_ > 0) scale_gradients(clip_scale(clip_norm_, norm_of(gradient)));
  }
  // Until the next advance().
  void scale_gradients(double scale) { scale_ = static_cast<float>(scale); }
  // Kinds that work by tensor refuse a part that cuts one, unless set_squares() was called in this step.
  virtual void apply(Slice part, std::span<float> x, std::span<const float> gradient) = 0;

  // For kinds that work by tensor, where nobody has whole tensors. After advance() and scale_gradients(), and
  // before any part of a tensor is applied, its owners add the squares of their pieces to sums that begin at
  // zero, as many as squares(); the total over all pieces is set until the next advance(). Others have no
  // sums.
  virtual std::size_t squares() const { return 0; }
  virtual void add_squares(Slice /*part*/, std::span<const float> /*x*/, std::span<const float> /*gradient*/,
                           std::span<double> /*sums*/) const {}
  virtual void set_squares(std::span<const double> /*sums*/) {}

  virtual void set_learning_rate(double rate) = 0;
  virtual double learning_rate() const = 0;

  // Vectors kept between steps (momentum, moments), as long as x; for averaging them and for checkpoints.
  virtual std::vector<std::span<float>> state() = 0;

  // How often advance() was called. The first step differs from later ones, so code that fills in the state
  // of another optimiser sets this too.
  virtual std::uint64_t steps() const = 0;
  virtual void set_steps(std::uint64_t steps) = 0;

 protected:
  float scale_ = 1;  // of this step's gradients

 private:
  double clip_norm_;
};

// For vectors of `count` elements. Checks the spec. Kinds that work by tensor need the tensors, which cover
// the elements.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec, std::size_t count, Tensors tensors = {});

}  // namespace starling::optim
