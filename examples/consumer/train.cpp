// Trains with an installed Starling: `starling launch -n 2 -- ./consumer_torch`.
#include <torch/torch.h>

#include <cstdio>

#include "starling/torch/session.h"

int main() {
  torch::set_num_threads(1);
  torch::manual_seed(1);
  torch::nn::Linear model(4, 1);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1));
  const torch::Tensor truth = torch::tensor({1.0F, -2.0F, 3.0F, 0.5F}).unsqueeze(1);

  starling::torch::Session session(model, optimizer, {.steps = 50});
  double last = 0;
  while (session.more()) {
    const torch::Tensor input = torch::randn({16, 4});
    const torch::Tensor loss = torch::mse_loss(model->forward(input), torch::matmul(input, truth));
    loss.backward();
    session.step(loss, 16);
    last = loss.item<double>();
  }
  session.finish();
  std::printf("worker %d of %d: loss %.6f\n", session.rank(), session.workers(), last);
  return last < 0.1 ? 0 : 1;
}
