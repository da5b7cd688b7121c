// The models that `starling train` has. Their parameters have the names that the same modules have in PyTorch
// (docs/models.md), so a saved model can be loaded there.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace starling::torch {

// The shape of a batch.
struct InputShape {
  bool text =
      false;  // indices into an alphabet, [batch][length]; else pictures [batch][channels][height][width]
  int channels = 1;
  int height = 28;
  int width = 28;
  int classes = 10;  // of text: size of the alphabet
};

// Gives the logits: [batch][classes] of pictures, [batch * length][classes] of text.
class Model : public ::torch::nn::Module {
 public:
  virtual ::torch::Tensor forward(const ::torch::Tensor& input) = 0;

  // Called in a forward pass with each module just before its parameters are used.
  void on_use(const std::function<void(::torch::nn::Module& module)>& use);

 protected:
  // The output of a child, which is a holder. A function of both, so that the inputs of nested calls are
  // computed before the child is asked for.
  template <class Child, class Input>
  auto run(Child& child, Input&& input) {
    if (use_) use_(*child);
    return child(std::forward<Input>(input));
  }

 private:
  std::function<void(::torch::nn::Module&)> use_;
};

// InvalidArgument, naming `what`, for pictures that are too small for the model. The name is one of
// model_names().
std::shared_ptr<Model> make_model(std::string_view name, const InputShape& shape, std::string_view what);

}  // namespace starling::torch
