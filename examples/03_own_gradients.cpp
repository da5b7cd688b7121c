// A program that joins the run it was started in: `starling launch -n 4 --strategy dpsgd --
// ./03_own_gradients`, or mpirun, srun or torchrun. Started alone it is a run of one. The launcher chooses
// the strategy and its options.
#include <cstdio>
#include <vector>

#include "starling/starling.h"

using namespace starling;

int main() try {
  join::RunContext run;
  session::Session::Options setting;
  setting.optimizer.learning_rate = 0.1;
  setting.sections = {{"x", 0, 4}};
  setting.steps = 100;
  if (!run.environment().trains()) {  // this process only runs the strategy's service
    session::run_service(run, setting);
    return 0;
  }
  session::Session session(run, setting, std::vector<float>(4, 5.0F));
  while (session.next()) {
    double loss = 0;  // |x - rank|^2 / 2: the minimum of all together is the mean of the ranks
    for (std::size_t i = 0; i < 4; ++i) {
      const float error = session.parameters()[i] - static_cast<float>(run.environment().rank);
      session.gradients()[i] = error;
      loss += static_cast<double>(error * error) / 2;
    }
    session.computed({.samples = 1, .loss = loss});
  }
  std::printf("worker %d of %d with %s: x = %.2f\n", run.environment().rank, run.environment().workers,
              run.environment().strategy.c_str(), static_cast<double>(session.parameters()[0]));
} catch (const InvalidArgument& error) {  // a wrong environment
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
