#include "starling/record/loss_history.h"

#include <gtest/gtest.h>

#include <limits>

namespace starling::record {
namespace {

LossPoint point(int number) {
  LossPoint made;
  made.time = Time(Duration(number));
  made.loss = number;
  return made;
}

TEST(LossHistory, KeepsFewPointsEvenlyAndTheLast) {
  for (int count = 1; count < 200; ++count) {
    LossHistory history(8);
    for (int i = 0; i < count; ++i) history.add(point(i));
    const std::vector<LossPoint> points = history.take();
    ASSERT_LE(points.size(), 9U) << count;
    EXPECT_EQ(points.front().loss, 0) << count;
    EXPECT_EQ(points.back().loss, count - 1) << count;
    const Duration stride = points.size() > 1 ? points[1].time - points[0].time : Duration{};
    for (std::size_t i = 2; i + 1 < points.size(); ++i) {
      EXPECT_EQ(points[i].time - points[i - 1].time, stride) << count;
    }
  }
}

TEST(LossHistory, RemembersADivergence) {
  LossHistory history(4);
  LossPoint bad = point(1);
  bad.loss = std::numeric_limits<double>::quiet_NaN();
  history.add(point(0));
  history.add(bad);
  for (int i = 2; i < 100; ++i) history.add(point(i));
  EXPECT_TRUE(history.diverged());
}

}  // namespace
}  // namespace starling::record
