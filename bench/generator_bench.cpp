// The cost of a request to the group generator: asking, dividing, reporting that a group is done. The workers
// are of equal speed and come in a random order.
#include <benchmark/benchmark.h>

#include <deque>
#include <vector>

#include "starling/coordination/group_table.h"

namespace {

using namespace starling;
using namespace starling::coordination;

void requests(benchmark::State& state, GroupRules::Kind kind) {
  const auto workers = static_cast<std::size_t>(state.range(0));
  GroupRules rules;
  rules.kind = kind;
  GroupTable book(std::vector<int>(workers, 0), make_policy(rules, Random(1)));
  std::vector<std::uint64_t> counts(workers), finished(workers);
  std::vector<Rank> order(workers);
  for (std::size_t i = 0; i < workers; ++i) order[i] = static_cast<Rank>(i);
  Random random(2);
  Time now{};
  for (auto _ : state) {
    random.shuffle(order);
    std::deque<IssuedGroup> given;
    for (const Rank rank : order) {
      GroupMessage note;
      note.count = ++counts[static_cast<std::size_t>(rank)];
      note.finished = finished[static_cast<std::size_t>(rank)];
      note.section = std::chrono::milliseconds(100);
      for (const GroupTable::Answer& answer : book.ask(rank, note, now)) {
        finished[static_cast<std::size_t>(answer.to)] = answer.group.number;
        if (answer.group.number > 0 && answer.group.members.front() == answer.to)
          given.push_back(answer.group);
      }
    }
    for (const IssuedGroup& group : given) book.done(group, now);
    now += std::chrono::milliseconds(100);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK_CAPTURE(requests, smart, GroupRules::Kind::kSmart)->Arg(16)->Arg(256)->Arg(10'000);
BENCHMARK_CAPTURE(requests, ready, GroupRules::Kind::kReady)->Arg(16)->Arg(256)->Arg(10'000);

}  // namespace
