#include "starling/strategy/batch/step_end.h"

#include <gtest/gtest.h>

#include "starling/core/byte_codec.h"
#include "starling/strategy/timed_exchange.h"
#include "tests/strategy/fake_worker.h"
#include "tests/support/virtual_ranks.h"

namespace starling::strategy {
namespace {

using namespace std::chrono_literals;

// A worker whose pieces take 56 ms, of eight: it leaves out the second one where others end their steps after
// 100 ms. Its third step begins before the word about the end of the second has come, if that is late.
Task<> steps_of_slow_worker(testing::FakeWorker& self, bool& leaves_out) {
  StepEnd end(self, {.pieces = 8});
  for (int step = 1; step <= 3; ++step) {
    co_await self.compute(end.plan());
    co_await runtime::sleep_for(step == 1 ? 110ms : 56ms);
    leaves_out = end.plan().stop();
    end.computed();
    co_await runtime::sleep_for(1ms);
  }
}

Task<> finishes_steps(transport::Transport& net, Time first, Time second) {
  for (const auto& [step, at] : {std::pair<std::uint64_t, Time>(1, first), {2, second}}) {
    co_await runtime::sleep_until(at);
    const Bytes message = ByteWriter::message().put(step).take();
    co_await net.send(0, tag_of(Channel::kFinished), message);
  }
}

TEST(StepEnd, ALateWordAboutTheLastStepCounts) {
  for (const auto second : {160ms, 180ms, 10'000ms}) {
    testing::VirtualRanks ranks(2);
    const RunInfo place = testing::place_of(2, {});
    testing::FakeWorker worker(place, ranks.at(0), {}, 3);
    bool leaves_out = false;
    ranks.start(0, steps_of_slow_worker(worker, leaves_out));
    ranks.start(1, finishes_steps(ranks.at(1), Time(100ms), Time(second)));
    ranks.run();
    // If nobody finished the second step, because all have become slower, there is time for the piece.
    EXPECT_EQ(leaves_out, second < 1s) << second.count() << " ms";
  }
}

}  // namespace
}  // namespace starling::strategy
