#include "starling/record/events.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "tests/record/made_records.h"

namespace starling::record {
namespace {

std::string events(const RunRecord& run) {
  std::ostringstream out;
  write_events(out, run);
  return out.str();
}

TEST(Events, OneLinePerSpanByRankAndTime) {
  const record::RunRecord run =
      make_run(10, {{wait(1, 3, 4), compute(0, 2), in_background(meet(18446744073709551615U, 1, 9))},
                    {hold(0, 2, 0, 1), serve(0, 1500, 3000)}});
  EXPECT_EQ(events(run),
            "{\"t\":0,\"d\":0.002,\"rank\":0,\"what\":\"compute\"}\n"
            "{\"t\":0.001,\"d\":0.008,\"rank\":0,\"what\":\"meet\",\"meeting\":18446744073709551615,"
            "\"background\":true}\n"
            "{\"t\":0.003,\"d\":0.001,\"rank\":0,\"what\":\"wait\",\"whom\":1}\n"
            "{\"t\":0,\"d\":0.001,\"rank\":1,\"what\":\"hold\",\"whom\":0,\"because\":2}\n"
            "{\"t\":1.5,\"d\":1.5,\"rank\":1,\"what\":\"serve\",\"whom\":0}\n");
}

TEST(Events, ASpanTellsTheStepItIsOf) {
  Span forward = compute(0, 2), backward = compute(2, 3);
  forward.detail = {Detail::Kind::kForward, 7, 0, 4};
  backward.detail.step = 7;
  EXPECT_EQ(events(make_run(10, {{forward, backward}})),
            "{\"t\":0,\"d\":0.002,\"rank\":0,\"what\":\"compute\",\"step\":7}\n"
            "{\"t\":0.002,\"d\":0.001,\"rank\":0,\"what\":\"compute\",\"step\":7}\n");
}

TEST(Events, LossesComeLast) {
  record::RunRecord run = make_run(10, {{update(0, 1)}});
  run.losses = {{Time(Duration(1)), 7, 0.1, 0.25}, {at(2), 8, std::numeric_limits<double>::infinity(), {}}};
  EXPECT_EQ(events(run),
            "{\"t\":0,\"d\":0.001,\"rank\":0,\"what\":\"update\"}\n"
            "{\"t\":0.000000001,\"loss\":0.1,\"steps\":7,\"accuracy\":0.25}\n"
            "{\"t\":0.002,\"loss\":null,\"steps\":8}\n");
}

}  // namespace
}  // namespace starling::record
