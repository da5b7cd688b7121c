#include "starling/strategy/batch/trigger.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"

namespace starling::strategy {
namespace {

using Kind = Trigger::Kind;

TEST(Trigger, ReadsAllForms) {
  EXPECT_EQ(parse_trigger("first", "t").kind, Kind::kFinishers);
  EXPECT_EQ(parse_trigger("first", "t").finishers, 1);
  EXPECT_EQ(parse_trigger("quorum:3", "t").finishers, 3);
  EXPECT_EQ(parse_trigger("deadline:80ms", "t").kind, Kind::kDeadline);
  EXPECT_EQ(parse_trigger("deadline:80ms", "t").deadline, std::chrono::milliseconds(80));
  EXPECT_EQ(parse_trigger("all", "t").kind, Kind::kAll);
}

TEST(Trigger, NamesWhatIsWrong) {
  for (const char* text : {"", "last", "quorum", "quorum:", "quorum:0", "quorum:x", "quorum:-1", "deadline",
                           "deadline:", "deadline:0s", "deadline:soon", "first:2", "all:1"}) {
    try {
      parse_trigger(text, "option trigger");
      FAIL() << text;
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find("option trigger"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace starling::strategy
