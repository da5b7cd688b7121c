#include "starling/torch/models.h"

#include "starling/core/error.h"

namespace starling::torch {
namespace {

namespace nn = ::torch::nn;
using ::torch::Tensor;

nn::Conv2d convolution(int from, int to, int size, int padding, int stride = 1, bool bias = true) {
  return nn::Conv2d(nn::Conv2dOptions(from, to, size).padding(padding).stride(stride).bias(bias));
}

Tensor halve(const Tensor& x) { return ::torch::max_pool2d(x, 2); }

class Mlp final : public Model {
 public:
  explicit Mlp(const InputShape& shape) {
    fc1_ = register_module("fc1", nn::Linear(shape.channels * shape.height * shape.width, 256));
    fc2_ = register_module("fc2", nn::Linear(256, 128));
    fc3_ = register_module("fc3", nn::Linear(128, shape.classes));
  }
  Tensor forward(const Tensor& input) override {
    return run(fc3_, ::torch::relu(run(fc2_, ::torch::relu(run(fc1_, input.flatten(1))))));
  }

 private:
  nn::Linear fc1_{nullptr}, fc2_{nullptr}, fc3_{nullptr};
};

// Ten equal hidden layers, 6.4 million parameters for pictures of 28 x 28: an update of it can hide behind
// the next forward pass. Without He's initialisation the signal would not get through.
class Deep final : public Model {
 public:
  explicit Deep(const InputShape& shape) {
    auto list = register_module("layers", nn::ModuleList());
    int inputs = shape.channels * shape.height * shape.width;
    for (int layer = 0; layer < 10; ++layer) {
      layers_.emplace_back(inputs, 800);
      nn::init::kaiming_uniform_(layers_.back()->weight, 0, ::torch::kFanIn, ::torch::kReLU);
      list->push_back(layers_.back());
      inputs = 800;
    }
    fc_ = register_module("fc", nn::Linear(inputs, shape.classes));
  }
  Tensor forward(const Tensor& input) override {
    Tensor x = input.flatten(1);
    for (nn::Linear& layer : layers_) x = ::torch::relu(run(layer, x));
    return run(fc_, x);
  }

 private:
  std::vector<nn::Linear> layers_;
  nn::Linear fc_{nullptr};
};

// LeNet-5 as it is built today: max pooling and ReLU.
class LeNet final : public Model {
 public:
  explicit LeNet(const InputShape& shape) {
    conv1_ = register_module("conv1", convolution(shape.channels, 6, 5, 2));
    conv2_ = register_module("conv2", convolution(6, 16, 5, 0));
    const int height = (shape.height / 2 - 4) / 2, width = (shape.width / 2 - 4) / 2;
    fc1_ = register_module("fc1", nn::Linear(16 * height * width, 120));
    fc2_ = register_module("fc2", nn::Linear(120, 84));
    fc3_ = register_module("fc3", nn::Linear(84, shape.classes));
  }
  Tensor forward(const Tensor& input) override {
    const Tensor x = halve(::torch::relu(run(conv2_, halve(::torch::relu(run(conv1_, input))))));
    return run(fc3_, ::torch::relu(run(fc2_, ::torch::relu(run(fc1_, x.flatten(1))))));
  }

 private:
  nn::Conv2d conv1_{nullptr}, conv2_{nullptr};
  nn::Linear fc1_{nullptr}, fc2_{nullptr}, fc3_{nullptr};
};

// 2.1 million parameters for pictures of 3 x 32 x 32, most of them in one matrix.
class Cnn final : public Model {
 public:
  explicit Cnn(const InputShape& shape) {
    conv1_ = register_module("conv1", convolution(shape.channels, 32, 3, 1));
    conv2_ = register_module("conv2", convolution(32, 64, 3, 1));
    fc1_ = register_module("fc1", nn::Linear(64 * (shape.height / 4) * (shape.width / 4), 512));
    fc2_ = register_module("fc2", nn::Linear(512, shape.classes));
  }
  Tensor forward(const Tensor& input) override {
    const Tensor x = halve(::torch::relu(run(conv2_, halve(::torch::relu(run(conv1_, input))))));
    return run(fc2_, ::torch::relu(run(fc1_, x.flatten(1))));
  }

 private:
  nn::Conv2d conv1_{nullptr}, conv2_{nullptr};
  nn::Linear fc1_{nullptr}, fc2_{nullptr};
};

// Two convolutions and a shortcut around them.
class BasicBlock final : public Model {
 public:
  BasicBlock(int from, int to, int stride) {
    conv1_ = register_module("conv1", convolution(from, to, 3, 1, stride, false));
    bn1_ = register_module("bn1", nn::BatchNorm2d(to));
    conv2_ = register_module("conv2", convolution(to, to, 3, 1, 1, false));
    bn2_ = register_module("bn2", nn::BatchNorm2d(to));
    if (from == to) return;
    shortcut_ = register_module("shortcut", convolution(from, to, 1, 0, stride, false));
  }
  Tensor forward(const Tensor& input) override {
    const Tensor x = run(bn2_, run(conv2_, ::torch::relu(run(bn1_, run(conv1_, input)))));
    return ::torch::relu(x + (shortcut_ ? run(shortcut_, input) : input));
  }

 private:
  nn::Conv2d conv1_{nullptr}, conv2_{nullptr}, shortcut_{nullptr};
  nn::BatchNorm2d bn1_{nullptr}, bn2_{nullptr};
};

// He et al. 2016, section 4.2, n = 3; the shortcuts that change the size are convolutions of 1 x 1.
class ResNet20 final : public Model {
 public:
  explicit ResNet20(const InputShape& shape) {
    conv1_ = register_module("conv1", convolution(shape.channels, 16, 3, 1, 1, false));
    bn1_ = register_module("bn1", nn::BatchNorm2d(16));
    blocks_ = register_module("blocks", nn::ModuleList());
    int channels = 16;
    for (const int width : {16, 16, 16, 32, 32, 32, 64, 64, 64}) {
      blocks_->push_back(std::make_shared<BasicBlock>(channels, width, width == channels ? 1 : 2));
      channels = width;
    }
    fc_ = register_module("fc", nn::Linear(64, shape.classes));
  }
  Tensor forward(const Tensor& input) override {
    Tensor x = ::torch::relu(run(bn1_, run(conv1_, input)));
    for (const auto& block : *blocks_) x = block->as<BasicBlock>()->forward(x);
    return run(fc_, x.mean({2, 3}));
  }

 private:
  nn::Conv2d conv1_{nullptr};
  nn::BatchNorm2d bn1_{nullptr};
  nn::ModuleList blocks_{nullptr};
  nn::Linear fc_{nullptr};
};

// Tells the next character.
class CharLm final : public Model {
 public:
  explicit CharLm(const InputShape& shape) {
    embedding_ = register_module("embedding", nn::Embedding(shape.classes, 64));
    lstm_ = register_module("lstm", nn::LSTM(nn::LSTMOptions(64, 128).batch_first(true)));
    fc_ = register_module("fc", nn::Linear(128, shape.classes));
  }
  Tensor forward(const Tensor& input) override {
    return run(fc_, std::get<0>(run(lstm_, run(embedding_, input)))).flatten(0, 1);
  }

 private:
  nn::Embedding embedding_{nullptr};
  nn::LSTM lstm_{nullptr};
  nn::Linear fc_{nullptr};
};

void check_size(std::string_view what, std::string_view name, const InputShape& shape, int least) {
  if (shape.height >= least && shape.width >= least) return;
  throw InvalidArgument(concat(what, ": ", name, " needs pictures of at least ", least, " x ", least,
                               "; these are ", shape.height, " x ", shape.width));
}

}  // namespace

void Model::on_use(const std::function<void(nn::Module&)>& use) {
  for (const auto& module : modules()) {
    if (auto* const model = module->as<Model>()) model->use_ = use;
  }
}

std::shared_ptr<Model> make_model(std::string_view name, const InputShape& shape, std::string_view what) {
  if (name == "charlm") return std::make_shared<CharLm>(shape);
  if (name == "mlp") return std::make_shared<Mlp>(shape);
  if (name == "deep") return std::make_shared<Deep>(shape);
  if (name == "lenet") {
    check_size(what, name, shape, 12);
    return std::make_shared<LeNet>(shape);
  }
  check_size(what, name, shape, 8);
  if (name == "cnn") return std::make_shared<Cnn>(shape);
  return std::make_shared<ResNet20>(shape);
}

}  // namespace starling::torch
