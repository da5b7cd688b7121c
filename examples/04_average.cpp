// Four processes average their vectors: all of them, then in two groups at the same time. A group is a list
// of ranks and needs no preparation.
#include <cstdio>
#include <span>
#include <vector>

#include "starling/starling.h"

using namespace starling;

runtime::Task<> train(transport::Transport& net) {
  const Group everyone{0, 1, 2, 3};
  std::vector<float> model(1000, static_cast<float>(net.rank()));
  co_await collective::all_reduce(net, everyone, std::span(model), collective::Reduction::mean(), 1);
  std::printf("rank %d: all four averaged: %g\n", net.rank(), model[0]);

  model.assign(1000, static_cast<float>(net.rank()));
  const Group group = net.rank() < 2 ? Group{0, 1} : Group{2, 3};
  co_await collective::all_reduce(net, group, std::span(model), collective::Reduction::mean(), 2);
  std::printf("rank %d: two and two averaged: %g\n", net.rank(), model[0]);

  const float expected = net.rank() < 2 ? 0.5F : 2.5F;
  if (model[0] != expected) throw Error(concat("expected ", expected));
}

int main() {
  launch::ForkedRanks ranks(4, [](transport::Transport& net) { runtime::run(net.scheduler(), train(net)); });
  int failed = 0;
  for (const auto& outcome : ranks.wait()) {
    if (outcome.good()) continue;
    std::fprintf(stderr, "a rank failed: %s\n", outcome.error.c_str());
    ++failed;
  }
  return failed == 0 ? 0 : 1;
}
