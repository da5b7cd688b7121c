// A LibTorch module whose parameters and gradients are in memory of the engine: one flat vector each, a
// section per parameter, in the order of the module.
//
// - A parameter that several modules share is one section.
// - Parameters that need no gradient when the replica is made are frozen: they are not trained, and every
//   worker starts with rank 0's.
// - A parameter without gradient in a step counts as one whose gradient is zero.
// - Buffers, such as the statistics of a batch normalisation, stay where they are: each worker has its own.
//   The mean of the workers' buffers goes with the mean of their models.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "starling/core/partition.h"
#include "starling/strategy/section.h"
#include "starling/torch/stored_model.h"

namespace starling::torch {

class Replica {
 public:
  // InvalidArgument naming the parameter if one is no dense float32 tensor on the CPU, and if none is to be
  // trained. The module must outlive the replica.
  explicit Replica(::torch::nn::Module& module);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  const std::vector<strategy::Section>& sections() const { return sections_; }
  std::size_t size() const { return size_; }
  // The sections of a module's parameters and of all modules in it, ascending, each once. Frozen parameters
  // and those of other models have none.
  std::vector<std::size_t> sections_of(const ::torch::nn::Module& module) const;
  bool holds(const ::torch::Tensor& parameter) const;
  // The parameters, flat.
  std::vector<float> values() const;

  // Tensors of a flat model, the parameters and then the extras: under the names of the module, with frozen
  // parameters and other buffers as they are.
  NamedTensors named(std::span<const float> flat) const;

  // Buffers of floats, and everything else that all workers take over from rank 0.
  std::vector<std::span<float>> extras() const;
  std::vector<std::span<std::byte>> fixed() const;

  // From now on the parameters and their gradients are views of these vectors, as long as size(). The values
  // of the parameters are those found there.
  void bind(std::span<float> parameters, std::span<float> gradients);

  // Called in a backward pass when a section's gradient is complete.
  void on_gradient(std::function<void(std::size_t section)> ready) { ready_ = std::move(ready); }

  // Which sections are the program's at the moment; without it all are. The gradients of the others are not
  // touched, and the parameters have none, so that the program does not touch them either.
  void set_usable(std::function<bool(std::size_t section)> usable) { usable_ = std::move(usable); }

  // Before a batch: the gradients of sections that are the program's are zero.
  void zero_gradients();
  // A section has become the program's: its gradient is zero, if it was left out before.
  void take_over(std::size_t section);
  // After a backward pass: gradients that the program has put elsewhere, by zero_grad() for instance, are
  // brought back.
  void collect_gradients();

  // The gradients of all sections, whosever they are: for updates.
  std::span<float> flat_gradients() const { return flat_gradients_; }
  // Calls `update` while exactly the parameters in the part, which is whole sections, have a gradient.
  void with_gradients_of(Slice part, const std::function<void()>& update);

 private:
  bool usable(std::size_t section) const { return !usable_ || usable_(section); }
  void zero(std::size_t section);
  void collect(std::size_t section);
  void add_hook(std::size_t section);

  std::vector<strategy::Section> sections_;
  std::vector<::torch::Tensor> parameters_;  // by section
  std::vector<::torch::Tensor> gradients_;   // views, once bound
  NamedTensors frozen_;
  NamedTensors buffers_;
  std::size_t size_ = 0;
  std::unordered_map<const void*, std::size_t> section_of_;  // by ::torch::TensorImpl of the parameter
  std::span<float> flat_gradients_;
  std::function<bool(std::size_t)> usable_;
  std::vector<bool> left_out_;  // by section: not zeroed in this batch yet
  std::function<void(std::size_t)> ready_;
  // The nodes of autograd that accumulate gradients. They hold the hooks, and live only as long as they are
  // held.
  struct Hooks;
  std::unique_ptr<Hooks> hooks_;
};

}  // namespace starling::torch
