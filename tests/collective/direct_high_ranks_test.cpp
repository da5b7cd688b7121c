// Direct exchanges of ranks with high numbers, as the last host of a large run has them.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/core/child_process.h"
#include "starling/runtime/run.h"
#include "starling/transport/shm/shm.h"

namespace starling::collective {
namespace {

using namespace std::chrono_literals;
using runtime::Task;
using transport::wire::Engine;

// A network with nobody on it.
class NoPeers final : public Engine {
 public:
  std::string_view name() const override { return "none"; }
  std::string card() const override { return {}; }
  void connect(const std::vector<std::string>&, const std::vector<Rank>&) override {}
  void post(Rank, std::vector<std::byte>) override {}
  std::size_t unsent(Rank) const override { return 0; }
  std::unique_ptr<transport::wire::Transfer> push(Rank, std::uint64_t, std::span<const std::byte>) override {
    return nullptr;
  }
  std::unique_ptr<transport::wire::Transfer> pull(Rank, std::uint64_t, std::span<std::byte>) override {
    return nullptr;
  }
  transport::wire::Transfer::State settle(transport::wire::Transfer&, Rank, Duration,
                                          const std::function<void()>&) override {
    return {};
  }
  void give_up(Rank) override {}
  bool poll(Client&) override { return false; }
  int descriptor() const override { return -1; }
  bool arm() override { return true; }
  void flush(Duration) override {}
};

constexpr int kRounds = 300;  // more than there are postings, so that all are reused

Task<bool> sum_many_times(transport::Transport& net, const Group& group) {
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::int64_t> value(1000, net.rank() + round);
    co_await all_reduce(net, group, Data{std::span<std::int64_t>(value)}, Reduction::sum(), 7,
                        Algorithm::kDirect);
    if (value.front() != 601 + 2 * round || value.back() != value.front()) co_return false;
  }
  co_return true;
}

TEST(DirectHighRanks, SumAsTheOthersDo) {
  const Group group{300, 301};
  const auto arena = transport::shm::Arena::create(2);
  arena->set_members(group);
  std::vector<ChildProcess> children;
  for (const Rank rank : group) {
    children.emplace_back([&arena, &group, rank] {
      runtime::LoopScheduler loop;
      transport::ShmTransport net(loop, arena, rank, 302,
                                  {.engine = std::make_unique<NoPeers>(), .peers = {}});
      const bool right = runtime::run(loop, sum_many_times(net, group));
      return right ? 0 : 1;
    });
  }
  for (ChildProcess& child : children) EXPECT_EQ(child.wait().exit_code, 0);
}

}  // namespace
}  // namespace starling::collective
