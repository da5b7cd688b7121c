// Uses an installed Starling: two processes add up their ranks.
#include <cstdint>
#include <iostream>
#include <span>

#include "starling/starling.h"

using namespace starling;

runtime::Task<> add_up(transport::Transport& net) {
  std::int64_t value = net.rank() + 1;
  const Group both{0, 1};
  co_await collective::all_reduce(net, both, std::span(&value, 1), collective::Reduction::sum(), 1);
  if (value != 3) throw Error(concat("1 + 2 is not ", value));
}

int main() {
  std::cout << "built against Starling " << version() << "\n";
  launch::ForkedRanks ranks(2, [](transport::Transport& net) { runtime::run(net.scheduler(), add_up(net)); });
  for (const auto& outcome : ranks.wait()) {
    if (!outcome.good()) return 1;
  }
}
