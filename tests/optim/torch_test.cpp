// The optimisers against values that PyTorch computed, bit for bit.
#include <gtest/gtest.h>

#include "starling/optim/optimizer.h"
#include "tests/optim/torch_values.h"

namespace starling::optim {
namespace {

using testing::torch_gradients;
using testing::torch_runs;
using testing::torch_start;
using testing::TorchRun;

void compare(const TorchRun& run) {
  std::vector<float> x = torch_start();
  const auto optimizer = make_optimizer(run.spec, x.size());
  const auto gradients = torch_gradients();
  ASSERT_EQ(run.path.size(), gradients.size());
  for (std::size_t step = 0; step < gradients.size(); ++step) {
    optimizer->step(x, gradients[step]);
    EXPECT_EQ(x, run.path[step]) << "step " << step;
  }
  const auto state = optimizer->state();
  ASSERT_EQ(state.size(), run.state.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    EXPECT_EQ(std::vector<float>(state[i].begin(), state[i].end()), run.state[i]) << "vector " << i;
  }
}

TEST(Torch, AgreesAfterEveryStep) {
  for (const TorchRun& run : torch_runs()) {
    SCOPED_TRACE(run.name);
    compare(run);
  }
}

}  // namespace
}  // namespace starling::optim
