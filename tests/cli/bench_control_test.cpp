#include "cli/bench/bench_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "cli/peers/job.h"

namespace starling::cli {
namespace {

using namespace std::chrono_literals;

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const WrongResult& error) {
    return concat("wrong: ", error.what());
  } catch (const Timeout& error) {
    return concat("timeout: ", error.what());
  } catch (const Error& error) {
    return concat("error: ", error.what());
  }
  return "fine";
}

bool nobody_ended() { return false; }

// Ranks whose answers are sent before they are asked for: one thread is enough.
class BenchControlTest : public ::testing::Test {
 protected:
  void greet(int ranks) {
    for (int rank = ranks - 1; rank >= 0; --rank) {  // any order will do
      ranks_.push_back(connect_to(control_.address()));
      ranks_.back().send_line(concat("hello ", rank));
    }
    std::reverse(ranks_.begin(), ranks_.end());
  }
  void connect() {
    greet(3);
    control_.wait_for_hellos(5s, nobody_ended);
  }
  std::string ask(Duration patience = 5s) {
    return error_of([&] { answers_ = control_.ask("time", patience); });
  }

  BenchControl control_{3};
  std::vector<LineSocket> ranks_;
  std::vector<std::string> answers_;
};

TEST_F(BenchControlTest, AsksEveryRank) {
  connect();
  for (int rank = 0; rank < 3; ++rank)
    ranks_[static_cast<std::size_t>(rank)].send_line(concat("done ", rank));
  EXPECT_EQ(ask(), "fine");
  EXPECT_EQ(answers_, (std::vector<std::string>{"done 0", "done 1", "done 2"}));
  for (LineSocket& rank : ranks_) EXPECT_EQ(rank.wait_for_line(), "time");
  control_.quit();
  for (LineSocket& rank : ranks_) EXPECT_EQ(rank.wait_for_line(), "quit");
}

TEST_F(BenchControlTest, NamesWhoDidNotStart) {
  greet(1);
  EXPECT_EQ(error_of([&] { control_.wait_for_hellos(100ms, nobody_ended); }),
            "timeout: ranks 1, 2 did not start within 100 ms");
  EXPECT_EQ(error_of([&] { control_.wait_for_hellos(60s, [] { return true; }); }),
            "error: ranks 1, 2 did not start");
}

TEST_F(BenchControlTest, RefusesStrangers) {
  greet(1);
  ranks_.push_back(connect_to(control_.address()));
  ranks_.back().send_line("hello 3");
  EXPECT_EQ(error_of([&] { control_.wait_for_hellos(5s, nobody_ended); }),
            "error: rank: '3' is not a whole number from 0 to 2");
}

TEST_F(BenchControlTest, NamesWhoDidNotAnswer) {
  connect();
  ranks_[1].send_line("done 1");
  EXPECT_EQ(ask(50ms), "timeout: ranks 0, 2 did not answer 'time' within 50 ms");
}

TEST_F(BenchControlTest, NoticesADeathAtOnce) {
  connect();
  ranks_[2] = LineSocket(Descriptor());
  EXPECT_EQ(ask(60s), "error: rank 2 ended before 'time'");
}

// The others wait for it, and will not answer.
TEST_F(BenchControlTest, NoticesADeathAfterTheAnswer) {
  connect();
  ranks_[1].send_line("done 1");
  shutdown(ranks_[1].descriptor().get(), SHUT_WR);
  EXPECT_EQ(ask(60s), "error: rank 1 ended during 'time'");
}

TEST_F(BenchControlTest, PassesOnWhatWentWrong) {
  connect();
  ranks_[1].send_line("wrong element 5 is 6");
  EXPECT_EQ(ask(60s), "wrong: element 5 is 6");
  ranks_[1].send_line("failed no memory");
  EXPECT_EQ(ask(60s), "error: rank 1: no memory");
}

}  // namespace
}  // namespace starling::cli
