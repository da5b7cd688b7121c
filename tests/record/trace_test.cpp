#include "starling/record/trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/record/made_records.h"

namespace starling::record {
namespace {

nlohmann::json trace(const RunRecord& run) {
  std::ostringstream out;
  write_trace(out, run, analyse_waits(run));
  return nlohmann::json::parse(out.str());
}

using Track = std::pair<int, int>;

// The names of the tracks, by process and thread.
std::map<Track, std::string> track_names(const nlohmann::json& json) {
  std::map<Track, std::string> names;
  for (const nlohmann::json& event : json["traceEvents"]) {
    if (event["name"] == "thread_name") names[{event["pid"], event["tid"]}] = event["args"]["name"];
  }
  return names;
}

RunRecord traced_example() {
  record::RunRecord run =
      make_run(20, {{compute(0, 8), meet(1, 8, 10), in_background(meet(2, 1, 9)),
                     in_background(meet(3, 2, 12)), in_background(meet(4, 9, 12)), update(10, 11)},
                    {compute(0, 3), meet(1, 3, 10), in_background(meet(2, 1, 9)),
                     in_background(meet(3, 2, 12)), in_background(meet(4, 9, 12))},
                    {serve(0, 0, 1)}});
  run.ranks[2].trains = false;
  run.losses = {{at(5), 1, 0.5, {}}, {at(9), 2, std::numeric_limits<double>::quiet_NaN(), {}}};
  return run;
}

TEST(Trace, NamesProcessesTracksAndEvents) {
  const nlohmann::json json = trace(traced_example());
  EXPECT_EQ(json["displayTimeUnit"], "ms");
  std::map<int, std::string> processes;
  std::set<std::string> events;
  for (const nlohmann::json& event : json["traceEvents"]) {
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["ph"] == "X") events.insert(event["name"]);
  }
  const std::map<int, std::string> expected = {
      {1, "worker 0"}, {2, "worker 1"}, {3, "service 2"}, {4, "training"}};
  EXPECT_EQ(processes, expected);
  const std::set<std::string> names = {"compute", "update", "wait for 0", "transfer", "serve 0"};
  EXPECT_EQ(events, names);
}

TEST(Trace, TracksHoldOneKindAndDoNotOverlap) {
  const nlohmann::json json = trace(traced_example());
  const std::map<Track, std::string> names = track_names(json);
  std::map<Track, std::vector<std::pair<double, double>>> busy;
  for (const nlohmann::json& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const Track track{event["pid"], event["tid"]};
    const std::string name = event["name"];
    ASSERT_TRUE(names.contains(track));
    EXPECT_EQ(name.substr(0, name.find(' ')), names.at(track).substr(0, names.at(track).find(' ')));
    busy[track].emplace_back(event["ts"], event["ts"].get<double>() + event["dur"].get<double>());
  }
  EXPECT_EQ(busy.size(), names.size());
  for (auto& [track, times] : busy) {
    std::sort(times.begin(), times.end());
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LE(times[i - 1].second, times[i].first);
  }
}

TEST(Trace, TheBackgroundHasTracksOfItsOwn) {
  std::set<std::string> of_worker_0;
  for (const auto& [track, name] : track_names(trace(traced_example()))) {
    if (track.first == 1) of_worker_0.insert(name);
  }
  const std::set<std::string> expected = {"compute", "update", "transfer", "transfer 2", "transfer 3"};
  EXPECT_EQ(of_worker_0, expected);
}

TEST(Trace, BackgroundWithoutForegroundBeginsWithTheFirstTrack) {
  const nlohmann::json json =
      trace(make_run(20, {{in_background(meet(1, 0, 5)), in_background(meet(2, 3, 6))}}));
  std::set<std::string> found;
  for (const auto& [track, name] : track_names(json)) found.insert(name);
  EXPECT_EQ(found, (std::set<std::string>{"transfer", "transfer 2"}));
}

TEST(Trace, TimesAreExactToTheNanosecond) {
  record::RunRecord run = make_run(1, {{}});
  Span step = compute(0, 0);
  step.begin = Time(Duration(1'234'567'890'123'001));
  step.end = step.begin + Duration(2'050);
  run.ranks[0].journal.add(step);
  std::ostringstream out;
  write_trace(out, run, analyse_waits(run));
  EXPECT_NE(out.str().find("\"ts\":1234567890123.001,\"dur\":2.05,"), std::string::npos) << out.str();
}

TEST(Trace, EventsAreNamedAfterTheirDetail) {
  using Kind = Detail::Kind;
  const nlohmann::json json = trace(make_run(
      20, {{about(Kind::kForward, 3, 0, 2, compute(0, 1)), about(Kind::kBackward, 3, 1, 2, compute(1, 2)),
            about(Kind::kAllReduce, 3, 1, 2, meet(1, 2, 6)), compute(6, 7),
            about(Kind::kReduceScatter, 3, 0, 1, in_background(meet(2, 3, 8))),
            about(Kind::kReduceScatter, 3, 0, 1, meet(2, 8, 9)),
            about(Kind::kAllGather, 3, 0, 1, in_background(meet(3, 9, 12)))},
           {compute(0, 4), meet(1, 4, 6), meet(2, 6, 9), meet(3, 9, 12)}}));
  std::map<std::string, std::vector<std::string>> found;
  for (const nlohmann::json& event : json["traceEvents"]) {
    if (event["ph"] != "X" || event["pid"] != 1) continue;
    found[event["name"]].push_back(event.value("args", nlohmann::json()).dump());
  }
  const std::map<std::string, std::vector<std::string>> expected = {
      {"forward", {R"({"first":0,"last":2,"step":3})"}},
      {"backward", {R"({"first":1,"last":2,"step":3})"}},
      {"compute", {"null"}},
      {"wait for 1",
       {R"({"first":1,"last":2,"of":"all-reduce","step":3})",
        R"({"first":0,"last":1,"of":"reduce-scatter","step":3})"}},
      {"all-reduce", {R"({"first":1,"last":2,"step":3})"}},
      {"reduce-scatter", {R"({"first":0,"last":1,"step":3})", R"({"first":0,"last":1,"step":3})"}},
      {"all-gather", {R"({"first":0,"last":1,"step":3})"}}};
  EXPECT_EQ(found, expected);
  std::set<std::string> tracks;
  for (const auto& [track, name] : track_names(json)) {
    if (track.first == 1) tracks.insert(name);
  }
  EXPECT_EQ(tracks, (std::set<std::string>{"compute", "wait", "wait 2", "transfer", "transfer 2"}));
}

TEST(Trace, TheLossIsACounter) {
  int points = 0;
  const nlohmann::json json = trace(traced_example());
  for (const nlohmann::json& event : json["traceEvents"]) {
    if (event["ph"] != "C") continue;
    ++points;
    EXPECT_EQ(event["args"]["loss"], 0.5);
    EXPECT_EQ(event["ts"], 5000);
  }
  EXPECT_EQ(points, 1);
}

TEST(Trace, ARunWithoutRanksIsValid) { EXPECT_TRUE(trace(record::RunRecord{})["traceEvents"].empty()); }

}  // namespace
}  // namespace starling::record
