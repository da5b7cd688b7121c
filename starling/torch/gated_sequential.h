// A Sequential whose forward pass waits for each of its modules just before it uses it, so that the update of
// later modules may still be in progress:
//
//   GatedSequential net(session, model);
//   auto loss = loss_fn(net->forward(batch.data), batch.target);
#pragma once

#include <torch/torch.h>

#include <utility>

#include "starling/torch/session.h"

namespace starling::torch {

class GatedSequential {
 public:
  // The session must outlive it. Modules are from a tensor to a tensor.
  GatedSequential(Session& session, ::torch::nn::Sequential modules)
      : session_(session), modules_(std::move(modules)) {}

  ::torch::Tensor forward(::torch::Tensor input) {
    for (::torch::nn::AnyModule& module : *modules_) {
      session_.ready(module.ptr());
      input = module.forward(std::move(input));
    }
    return input;
  }
  ::torch::Tensor operator()(::torch::Tensor input) { return forward(std::move(input)); }
  // So that it reads like the holder that it replaces.
  GatedSequential* operator->() { return this; }

 private:
  Session& session_;
  ::torch::nn::Sequential modules_;
};

}  // namespace starling::torch
