// How `starling bench train` counts: steps, whatever spans they have, in a window that is the same for all.
#include "cli/bench/train_rate.h"

#include <gtest/gtest.h>

#include <sstream>

#include "starling/core/error.h"

namespace starling::cli {
namespace {

std::string message_of(const StepEnds& ends) {
  try {
    timed_steps(ends, 2, 3);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TrainRate, TheWindowBeginsAfterTheWarmUpOfTheLastWorker) {
  const TimedSteps timed = timed_steps({{1, 2, 3, 4, 5}, {2, 3, 4, 5, 6}}, 2, 3);
  EXPECT_DOUBLE_EQ(timed.seconds, 5 - 3);  // when the first ends, the other one has the machine for itself
  EXPECT_DOUBLE_EQ(timed.steps, 2 + 2);
}

TEST(TrainRate, TheWindowEndsAfterTheSameNumberOfStepsHoweverManyWereMade) {
  const TimedSteps timed = timed_steps({{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4, 5, 5.1, 5.2, 5.3}}, 2, 3);
  EXPECT_DOUBLE_EQ(timed.seconds, 3);
  EXPECT_DOUBLE_EQ(timed.steps, 6);
}

TEST(TrainRate, AFastWorkerGoesOnUntilTheSlowOneHasMadeItsSteps) {
  const TimedSteps timed = timed_steps({{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 4, 6, 8, 10, 12}}, 2, 3);
  EXPECT_DOUBLE_EQ(timed.seconds, 10 - 4);
  EXPECT_DOUBLE_EQ(timed.steps, 6 + 3);
}

TEST(TrainRate, AStepThatIsPartlyInTheWindowCountsInPart) {
  const TimedSteps timed = timed_steps({{1, 2, 4, 6, 8}, {2, 3, 5, 7, 9}}, 2, 3);
  EXPECT_DOUBLE_EQ(timed.seconds, 5);
  EXPECT_DOUBLE_EQ(timed.steps, 2.5 + 2.5);
}

TEST(TrainRate, RefusesWhatTellsNothing) {
  EXPECT_NE(message_of({{1, 2, 3}, {1, 2}}).find("worker 1 made 2 steps"), std::string::npos);
  EXPECT_NE(message_of({{1, 2, 3}, {4, 5, 6}}).find("at the same time"), std::string::npos);
  EXPECT_NE(message_of({}).find("at the same time"), std::string::npos);
}

// Four spans a step, as with `allreduce --schedule ddp`, whose backward pass is noted bucket by bucket. It
// was shown with 15 times the speed of DDP when spans were counted.
TEST(TrainRate, CountsStepsNotSpans) {
  std::ostringstream events;
  for (int rank = 0; rank < 2; ++rank) {
    for (int step = 1; step <= 5; ++step) {
      for (const double part : {0.0, 0.25, 0.5, 0.75}) {
        events << "{\"t\":" << step - 1 + part << ",\"d\":0.25,\"rank\":" << rank
               << ",\"what\":\"compute\",\"step\":" << step << "}\n";
      }
      events << "{\"t\":" << step << ",\"d\":0,\"rank\":" << rank << ",\"what\":\"meet\",\"step\":" << step
             << ",\"meeting\":" << step << "}\n";
    }
  }
  events << "{\"t\":5,\"loss\":0.1,\"steps\":10}\n";
  std::istringstream in(events.str());
  const StepEnds ends = read_step_ends(in);
  EXPECT_EQ(ends, (StepEnds{{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}}));
  EXPECT_DOUBLE_EQ(timed_steps(ends, 2, 3).steps, 6);
}

TEST(TrainRate, RefusesSpansThatCannotBeCounted) {
  std::istringstream nameless("{\"t\":0,\"d\":1,\"rank\":0,\"what\":\"compute\"}\n");
  EXPECT_THROW(read_step_ends(nameless), Error);
  std::istringstream gap("{\"t\":0,\"d\":1,\"rank\":0,\"what\":\"compute\",\"step\":2}\n");
  EXPECT_THROW(read_step_ends(gap), Error);
}

}  // namespace
}  // namespace starling::cli
