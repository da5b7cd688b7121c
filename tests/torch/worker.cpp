#include "tests/torch/worker.h"

#include <torch/torch.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <unordered_set>

#include "starling/core/error.h"
#include "starling/core/text.h"
#include "starling/torch/gated_sequential.h"
#include "starling/torch/session.h"

namespace starling::torch {
namespace {

namespace nn = ::torch::nn;
namespace to = ::torch::optim;
using ::torch::Tensor;

constexpr int kWidth = 16;

// A linear layer whose matrix is another one's, too.
struct TwinImpl : nn::Module {
  explicit TwinImpl(const nn::Linear& other) {
    weight = register_parameter("weight", other->weight);
    bias = register_parameter("bias", ::torch::zeros(kWidth));
  }
  Tensor forward(const Tensor& x) { return ::torch::tanh(::torch::linear(x, weight, bias)); }
  Tensor weight, bias;
};
TORCH_MODULE(Twin);

nn::Sequential make_net() {
  ::torch::manual_seed(7);
  const nn::Linear first(kWidth, kWidth), second(kWidth, kWidth), frozen(kWidth, kWidth);
  frozen->weight.set_requires_grad(false);
  return nn::Sequential(first, nn::Tanh(), second, nn::LayerNorm(nn::LayerNormOptions({kWidth})), frozen,
                        Twin(first), nn::Linear(kWidth, 4));
}

std::vector<Tensor> parameters_of(nn::Sequential& net) {
  std::vector<Tensor> all;
  std::unordered_set<const void*> seen;
  for (const Tensor& parameter : net->parameters()) {
    if (seen.insert(parameter.unsafeGetTensorImpl()).second) all.push_back(parameter);
  }
  return all;
}

to::SGDOptions sgd(double rate) {
  return to::SGDOptions(rate).momentum(0.9).weight_decay(0.01).nesterov(true);
}

std::unique_ptr<to::Optimizer> make_optimizer(const std::string& name, const std::vector<Tensor>& all) {
  if (name == "adamw") return std::make_unique<to::AdamW>(all, to::AdamWOptions(0.01).weight_decay(0.1));
  if (name != "groups") return std::make_unique<to::SGD>(all, sgd(0.1));
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  const std::vector<to::OptimizerParamGroup> groups = {
      {{all.begin(), middle}, std::make_unique<to::SGDOptions>(sgd(0.05))},
      {{middle, all.end()}, std::make_unique<to::SGDOptions>(sgd(0.2))}};
  return std::make_unique<to::SGD>(groups, sgd(0.1));
}

class Training {
 public:
  explicit Training(const WorkerTask& task) : task_(task) {}

  void run() {
    for (int step = 0; session_.more(); ++step) {
      if (step == kWorkerSteps) session_.finish();
      if (!session_.more()) break;
      if (task_.rate == "falling") scale_rates(0.8);
      if (task_.look == "often" && step % 3 == 1) look(step);
      ::torch::manual_seed(static_cast<std::uint64_t>(1000 * step + session_.rank()));
      const Tensor input = ::torch::randn({5, kWidth}), target = ::torch::randint(4, {5});
      if (step % 2 == 0) optimizer_->zero_grad();
      const Tensor loss = nn::functional::cross_entropy(forward(input, step), target);
      loss.backward();
      session_.step(loss, 5);
    }
    look(kWorkerSteps);
    std::ofstream file(task_.folder + "/" + std::to_string(session_.rank()), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seen_.data()),
               static_cast<std::streamsize>(seen_.size() * sizeof(float)));
  }

 private:
  Tensor forward(const Tensor& input, int step) {
    if (task_.forward == "plain") return net_->forward(input);
    if (task_.forward == "gated") return gated_->forward(input);
    Tensor x = input;
    int number = 0;
    for (nn::AnyModule& module : *net_) {
      const int own = number++;
      if (task_.forward == "skips" && own == 2 && step % 3 == 2) continue;
      const bool asks = task_.forward == "half"      ? own % 4 < 2
                        : task_.forward == "forgets" ? step % 2 == 0
                                                     : true;
      if (asks) session_.ready(module.ptr());
      x = module.forward(x);
    }
    return x;
  }

  void look(int step) {
    const ::torch::NoGradGuard no_grad;
    const Tensor output = forward(::torch::ones({1, kWidth}), step).contiguous();
    keep(output);
    session_.flush();
    for (const Tensor& parameter : parameters_) keep(parameter.contiguous());
  }

  void keep(const Tensor& tensor) {
    seen_.insert(seen_.end(), tensor.data_ptr<float>(), tensor.data_ptr<float>() + tensor.numel());
  }

  void scale_rates(double factor) {
    for (auto& group : optimizer_->param_groups()) group.options().set_lr(factor * group.options().get_lr());
  }

  const WorkerTask& task_;
  nn::Sequential net_ = make_net();
  std::vector<Tensor> parameters_ = parameters_of(net_);
  std::unique_ptr<to::Optimizer> optimizer_ = make_optimizer(task_.optimizer, parameters_);
  Session session_{net_, *optimizer_,
                   SessionOptions{.equal_batches = true, .clip_norm = task_.clip == "clipped" ? 0.2 : 0}};
  GatedSequential gated_{session_, net_};
  std::vector<float> seen_;
};

WorkerTask task_of(const std::string& word) {
  const std::vector<std::string> words = split(word, ',');
  return {words.at(0), words.at(1), words.at(2), words.at(3), words.at(4), words.at(5)};
}

}  // namespace

std::string in_a_word(const WorkerTask& task) {
  return join_texts(
      std::vector<std::string>{task.optimizer, task.forward, task.rate, task.clip, task.look, task.folder},
      ",");
}

int run_worker(const std::string& word) {
  ::torch::set_num_threads(1);
  try {
    const WorkerTask task = task_of(word);
    Training(task).run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::ofstream(task_of(word).folder + "/error") << error.what();
    return 1;
  }
}

std::vector<float> seen_by(const WorkerTask& task, int rank) {
  const std::string path = task.folder + "/" + std::to_string(rank);
  std::vector<float> seen(std::filesystem::file_size(path) / sizeof(float));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(seen.data()), static_cast<std::streamsize>(seen.size() * sizeof(float)));
  return seen;
}

}  // namespace starling::torch
