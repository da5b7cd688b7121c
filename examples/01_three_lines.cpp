// A LibTorch program as written for one process, and the three lines that make it one of many workers:
//   starling launch -n 4 --strategy local-sgd -- ./01_three_lines
#include <torch/torch.h>

#include <cstdio>

#include "starling/core/error.h"
#include "starling/torch/session.h"  // besides the three lines

// Points in four clouds.
struct Clouds : torch::data::datasets::Dataset<Clouds> {
  torch::data::Example<> get(std::size_t index) override {
    const auto label = static_cast<std::int64_t>(index % 4);
    const torch::Tensor centre = torch::tensor({label % 2 ? 1.0F : -1.0F, label / 2 ? 1.0F : -1.0F});
    const auto noise = torch::tensor(
        {std::sin(1.7F * static_cast<float>(index)), std::cos(2.3F * static_cast<float>(index))});
    return {centre + 0.8F * noise, torch::tensor(label)};
  }
  torch::optional<std::size_t> size() const override { return 2048; }
};

int main() try {
  torch::set_num_threads(1);
  torch::manual_seed(1);
  torch::nn::Sequential model(torch::nn::Linear(2, 32), torch::nn::ReLU(), torch::nn::Linear(32, 4));
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      Clouds().map(torch::data::transforms::Stack<>()), 32);

  auto session = starling::torch::Session(model, optimizer);  // 1
  double last = 0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (auto& batch : *session.shard(loader)) {  // 2
      auto loss = torch::nn::functional::cross_entropy(model->forward(batch.data), batch.target);
      loss.backward();
      session.step(loss);  // 3
      last = loss.item<double>();
    }
  }
  session.finish();
  const double sum =
      torch::nn::utils::parameters_to_vector(model->parameters()).sum(torch::kDouble).item<double>();
  std::printf("worker %d of %d: loss %.3f, sum of the weights %.17g\n", session.rank(), session.workers(),
              last, sum);
  return last < 0.5 ? 0 : 1;
} catch (const starling::InvalidArgument& error) {  // a wrong environment
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
