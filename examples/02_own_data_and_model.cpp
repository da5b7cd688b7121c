// A data set and a model of your own, shards that follow the speed of the workers, a falling learning rate,
// and a model that one of the workers saves:
//   starling launch -n 2 --strategy ps --mode asp -- ./02_own_data_and_model
#include <torch/torch.h>

#include <cstdio>
#include <filesystem>

#include "starling/core/error.h"
#include "starling/torch/session.h"

// Waves of three frequencies, to be classified.
class Waves : public torch::data::datasets::Dataset<Waves> {
 public:
  torch::data::Example<> get(std::size_t index) override {
    const auto label = static_cast<std::int64_t>(index % 3);
    const torch::Tensor time = torch::arange(64, torch::kFloat32) / 64;
    const float frequency = 3.0F + 2.0F * static_cast<float>(label),
                phase = 0.37F * static_cast<float>(index);
    return {torch::sin(6.2832F * frequency * time + phase).unsqueeze(0), torch::tensor(label)};
  }
  torch::optional<std::size_t> size() const override { return 900; }
};

// Batch normalisation has statistics beside its parameters: every worker keeps its own.
struct WaveNetImpl : torch::nn::Module {
  WaveNetImpl() {
    conv = register_module("conv", torch::nn::Conv1d(torch::nn::Conv1dOptions(1, 8, 9).padding(4)));
    norm = register_module("norm", torch::nn::BatchNorm1d(8));
    head = register_module("head", torch::nn::Linear(8, 3));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return head(std::get<0>(torch::relu(norm(conv(x))).max(2)));
  }
  torch::nn::Conv1d conv{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Linear head{nullptr};
};
TORCH_MODULE(WaveNet);

int main() try {
  torch::set_num_threads(1);
  WaveNet model;
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(0.02));
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      Waves().map(torch::data::transforms::Stack<>()), 20);

  starling::torch::Session session(model, optimizer, {.dynamic_shards = true});
  constexpr std::uint64_t kBatches = 45;  // 900 / 20
  for (int epoch = 0; epoch < 3; ++epoch) {
    static_cast<torch::optim::AdamOptions&>(optimizer.param_groups()[0].options()).lr(0.02 / (1 + epoch));
    for (auto& batch : *session.shard(loader, kBatches)) {
      auto loss = torch::nn::functional::cross_entropy(model->forward(batch.data), batch.target);
      loss.backward();
      session.step(loss);
    }
  }
  session.finish();

  model->eval();
  Waves waves;
  int right = 0;
  for (std::size_t i = 0; i < 90; ++i) {
    const auto example = waves.get(i);
    right += model->forward(example.data.unsqueeze(0)).argmax(1).item<std::int64_t>() ==
             example.target.item<std::int64_t>();
  }
  std::printf("worker %d of %d: %d of 90 right\n", session.rank(), session.workers(), right);
  if (session.rank() == 0) {
    const auto file = std::filesystem::temp_directory_path() / "starling_waves.pt";
    torch::save(model, file.string());
    std::filesystem::remove(file);
  }
  return right > 60 ? 0 : 1;
} catch (const starling::InvalidArgument& error) {  // a wrong environment or model
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
