#include "starling/join/loop_keeper.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "starling/core/error.h"
#include "starling/runtime/event.h"
#include "starling/runtime/run.h"
#include "starling/transport/inproc.h"

namespace starling::join {
namespace {

runtime::Task<> until(runtime::Event& event) { co_await event; }

// While the program loads its data, its loop goes on; afterwards the program has it.
TEST(LoopKeeper, RunsTheLoopUntilItIsHandedOver) {
  runtime::LoopScheduler loop;
  transport::InprocWorld world(std::vector<runtime::LoopScheduler*>{&loop});
  LoopKeeper keeper(loop, world.at(0), {});
  std::promise<std::thread::id> ran;
  loop.post([&] { ran.set_value(std::this_thread::get_id()); });
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
  keeper.hand_over();
  std::thread::id later;
  runtime::Event done;
  loop.post([&] {
    later = std::this_thread::get_id();
    done.set();
  });
  runtime::run(loop, until(done), "the program");
  EXPECT_EQ(later, std::this_thread::get_id());
}

// What has failed meanwhile is told to the program.
TEST(LoopKeeper, TellsWhatFailed) {
  runtime::LoopScheduler loop;
  transport::InprocWorld world(std::vector<runtime::LoopScheduler*>{&loop});
  LoopKeeper keeper(loop, world.at(0), {});
  loop.post([] { throw Error("the network is gone"); });
  try {
    keeper.hand_over();
    FAIL() << "nothing was told";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the network is gone");
  }
}

}  // namespace
}  // namespace starling::join
