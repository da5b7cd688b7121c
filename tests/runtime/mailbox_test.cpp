#include "starling/runtime/mailbox.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/run.h"
#include "starling/runtime/virtual_scheduler.h"

namespace starling::runtime {
namespace {

using Log = std::vector<std::string>;

Task<> take_one(Mailbox<int>& box, std::string who, Log& log) {
  const int item = co_await box.take();
  log.push_back(concat(who, item));
}

TEST(Mailbox, KeepsItemsInOrder) {
  VirtualScheduler scheduler;
  Mailbox<int> box;
  EXPECT_TRUE(box.empty());
  Log log;
  const auto body = [&]() -> Task<> {
    for (int i = 0; i < 3; ++i) box.put(i);
    EXPECT_EQ(box.size(), 3u);
    for (int i = 0; i < 3; ++i) co_await take_one(box, "", log);
  };
  run(scheduler, body());
  EXPECT_EQ(log, (Log{"0", "1", "2"}));
  EXPECT_TRUE(box.empty());
}

TEST(Mailbox, ServesTakersInTheOrderTheyCame) {
  VirtualScheduler scheduler;
  Mailbox<int> box;
  Log log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    for (const char* who : {"a", "b", "c"}) scope.spawn(take_one(box, who, log));
    co_await yield();
    for (int i = 1; i <= 3; ++i) box.put(i);
    EXPECT_TRUE(box.empty()) << "items belong to the takers at once";
    EXPECT_TRUE(log.empty()) << "put() must not run anybody";
    co_await scope.join();
  };
  run(scheduler, body());
  EXPECT_EQ(log, (Log{"a1", "b2", "c3"}));
}

TEST(Mailbox, ALateTakerDoesNotOvertake) {
  VirtualScheduler scheduler;
  Mailbox<int> box;
  Log log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(take_one(box, "a", log));
    co_await yield();
    box.put(1);  // a's, though a has not run yet
    scope.spawn(take_one(box, "b", log));
    box.put(2);
    co_await take_one(box, "me", log);  // finds 2 before b has started
    box.put(3);
    co_await scope.join();
  };
  run(scheduler, body());
  EXPECT_EQ(log, (Log{"me2", "a1", "b3"}));
}

TEST(Mailbox, TakesMoveOnlyItems) {
  VirtualScheduler scheduler;
  Mailbox<std::unique_ptr<int>> box;
  const auto body = [&]() -> Task<int> {
    box.put(std::make_unique<int>(7));
    co_return *co_await box.take();
  };
  EXPECT_EQ(run(scheduler, body()), 7);
}

TEST(Mailbox, TheItemOfACancelledTakerGoesBackToTheFront) {
  VirtualScheduler scheduler;
  Mailbox<int> box;
  Log log;
  const auto body = [&]() -> Task<> {
    {
      Scope scope(co_await this_context());
      scope.spawn(take_one(box, "cancelled", log));
      co_await yield();
      box.put(1);
      box.put(2);
      EXPECT_EQ(box.size(), 1u);
    }
    EXPECT_EQ(box.size(), 2u);
    co_await take_one(box, "", log);
    co_await take_one(box, "", log);
  };
  run(scheduler, body());
  EXPECT_EQ(log, (Log{"1", "2"}));
}

TEST(Mailbox, ItemsOfSeveralCancelledTakersKeepTheirOrder) {
  VirtualScheduler scheduler;
  Mailbox<int> box;
  Log log;
  const auto body = [&]() -> Task<> {
    {
      Scope scope(co_await this_context());
      for (int i = 0; i < 3; ++i) scope.spawn(take_one(box, "cancelled", log));
      co_await yield();
      for (int i = 1; i <= 4; ++i) box.put(i);
    }
    for (int i = 0; i < 4; ++i) co_await take_one(box, "", log);
  };
  run(scheduler, body());
  EXPECT_EQ(log, (Log{"1", "2", "3", "4"}));
}

TEST(Mailbox, TheItemOfACancelledTakerGoesToTheNextTaker) {
  VirtualScheduler scheduler;
  Mailbox<int> box;
  Log log;
  const auto body = [&]() -> Task<> {
    Scope others(co_await this_context());
    {
      Scope scope(co_await this_context());
      scope.spawn(take_one(box, "cancelled", log));
      co_await yield();
      others.spawn(take_one(box, "next", log));
      co_await yield();
      box.put(1);
    }
    co_await others.join();
  };
  run(scheduler, body());
  EXPECT_EQ(log, (Log{"next1"}));
  EXPECT_TRUE(box.empty());
}

TEST(Mailbox, AServedTakerOutlivesTheMailbox) {
  VirtualScheduler scheduler;
  std::optional<Mailbox<int>> box(std::in_place);
  Log log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(take_one(*box, "a", log));
    co_await yield();
    box->put(5);
    box.reset();
    co_await scope.join();
  };
  run(scheduler, body());
  EXPECT_EQ(log, (Log{"a5"}));
}

TEST(Mailbox, IsNamedInReports) {
  VirtualScheduler scheduler;
  Mailbox<int> box("work for the coordinator");
  Log log;
  try {
    run(scheduler, take_one(box, "", log), "rank 0");
    FAIL() << "did not wait";
  } catch (const Deadlock& deadlock) {
    EXPECT_NE(std::string(deadlock.what()).find("rank 0 waits for work for the coordinator"),
              std::string::npos)
        << deadlock.what();
  }
}

}  // namespace
}  // namespace starling::runtime
