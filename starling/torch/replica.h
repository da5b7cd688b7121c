// A LibTorch module whose parameters and gradients lie in memory of the engine: one flat vector each, a
// section per parameter, in the order of the module.
//
// - A parameter that several modules share is one section.
// - Parameters that need no gradient when the replica is made are frozen: they are not trained, and everybody
//   starts with rank 0's.
// - A parameter without gradient in a step counts as one whose gradient is zero.
// - Buffers, such as the statistics of a batch normalisation, stay where they are: each worker has its own,
// and
//   the mean of the workers' is what goes with the mean of their models.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "starling/strategy/section.h"

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
  // The parameters, flat.
  std::vector<float> values() const;

  // Buffers of floats, and all else that everybody takes over from rank 0.
  std::vector<std::span<float>> extras() const;
  std::vector<std::span<std::byte>> fixed() const;

  // From now on the parameters and their gradients are views of these vectors, as long as size(). The values
  // of the parameters are those found there.
  void bind(std::span<float> parameters, std::span<float> gradients);

  // Called in a backward pass when a section's gradient is complete.
  void on_gradient(std::function<void(std::size_t section)> ready) { ready_ = std::move(ready); }

  // Before a backward pass: the gradients are zero.
  void zero_gradients();
  // After it: gradients that the program has put elsewhere, by zero_grad() for instance, are brought back.
  void collect_gradients();

 private:
  void collect(std::size_t section);
  void add_hook(std::size_t section);

  std::vector<strategy::Section> sections_;
  std::vector<::torch::Tensor> parameters_;  // by section
  std::vector<::torch::Tensor> gradients_;   // views, once bound
  std::vector<::torch::Tensor> frozen_;
  std::vector<::torch::Tensor> buffers_;
  std::size_t size_ = 0;
  std::span<float> flat_gradients_;
  std::function<void(std::size_t)> ready_;
  // The nodes of autograd that add up gradients. They hold the hooks, and live only as long as somebody holds
  // them.
  struct Hooks;
  std::unique_ptr<Hooks> hooks_;
};

}  // namespace starling::torch
