#include "starling/record/summary.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/record/made_records.h"

namespace starling::record {
namespace {

using Json = nlohmann::ordered_json;

RunRecord summary_example() {
  record::RunRecord run =
      make_run(10, {{compute(0, 8), meet(1, 8, 10)}, {compute(0, 3), meet(1, 3, 10)}, {serve(0, 0, 1)}});
  run.ranks[2].trains = false;
  for (std::size_t i = 0; i < 2; ++i) {
    run.ranks[i].journal.steps = 5 + i;
    run.ranks[i].journal.samples = 100;
    run.ranks[i].journal.step_traffic.peak_bytes = 10 + i;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    run.ranks[i].bytes_sent = 1000 * (i + 1);
    run.ranks[i].messages_sent = i + 1;
  }
  return run;
}

Json summary(const RunRecord& run, std::optional<double> wall_seconds = {}) {
  return Json::parse(summary_json(run, analyse_waits(run), wall_seconds));
}

TEST(Summary, CountsAndFractions) {
  const Json json = summary(summary_example());
  EXPECT_EQ(json["strategy"], "made-up");
  EXPECT_EQ(json["world"], "simulated");
  EXPECT_EQ(json["workers"], 2);
  EXPECT_EQ(json["services"], 1);
  EXPECT_EQ(json["seconds"], 0.01);
  EXPECT_EQ(json["samples"], 200);
  EXPECT_EQ(json["samples_per_second"], 20000.0);
  EXPECT_EQ(json["steps_per_worker"], Json({5, 6}));
  EXPECT_EQ(json["bytes_sent_per_worker"], Json({1000, 2000}));
  EXPECT_EQ(json["bytes_sent_by_services"], Json::array({3000}));
  EXPECT_EQ(json["peak_step_bytes_per_worker"], Json({10, 11}));
  EXPECT_EQ(json["messages_sent_per_worker"], Json({1, 2}));
  EXPECT_EQ(json["compute_fraction_per_worker"], Json({0.8, 0.3}));
  EXPECT_EQ(json["wait_fraction_per_worker"], Json({0.0, 0.5}));
  EXPECT_EQ(json["transfer_fraction_per_worker"], Json({0.2, 0.2}));
  EXPECT_EQ(json["most_waited_for"], 0);
  EXPECT_EQ(json["waited_for_seconds_per_worker"], Json({0.005, 0.0}));
  EXPECT_EQ(json["waited_for_seconds_by_services"], Json::array({0.0}));
}

TEST(Summary, WhatIsNotKnownIsNull) {
  const Json json = summary(summary_example());
  for (const char* key :
       {"final_train_loss", "final_accuracy", "consensus_distance", "events", "lock_waits"}) {
    EXPECT_TRUE(json.at(key).is_null()) << key;
  }
  EXPECT_EQ(json.at("staleness"),
            Json({{"mean", 0.0}, {"p50", 0}, {"p99", 0}, {"max", 0}, {"histogram", Json::array()}}));
  EXPECT_EQ(json["diverged"], false);
  EXPECT_EQ(json["ended"], Json::object());
  EXPECT_FALSE(json.contains("time_to_target_seconds"));
  EXPECT_FALSE(json.contains("wall_seconds"));
}

TEST(Summary, ARunWithoutRanksOrTimeHasNoRates) {
  const Json json = summary(record::RunRecord{});
  EXPECT_TRUE(json.at("samples_per_second").is_null());
  EXPECT_TRUE(json.at("most_waited_for").is_null());
  EXPECT_EQ(json["steps_per_worker"], Json::array());
}

TEST(Summary, TargetsStalenessAndEnds) {
  record::RunRecord run = summary_example();
  run.has_target = true;
  EXPECT_TRUE(summary(run).at("time_to_target_seconds").is_null());
  run.time_to_target = ms(7);
  run.final_train_loss = 0.1;
  run.final_accuracy = 0.9;
  run.consensus_distance = 1e-9;
  run.events = 12;
  run.ranks[0].journal.staleness.note(1);
  run.ranks[2].journal.staleness.note(4);
  run.ranks[1].ended = "killed at \"2.5\" s";
  const Json json = summary(run);
  EXPECT_EQ(json["time_to_target_seconds"], 0.007);
  EXPECT_EQ(json["final_train_loss"], 0.1);
  EXPECT_EQ(json["final_accuracy"], 0.9);
  EXPECT_EQ(json["consensus_distance"], 1e-9);
  EXPECT_EQ(json["events"], 12);
  EXPECT_EQ(json["staleness"]["mean"], 2.5);
  EXPECT_EQ(json["staleness"]["max"], 4);
  EXPECT_EQ(json["staleness"]["p50"], 1);
  EXPECT_EQ(json["staleness"]["p99"], 4);
  EXPECT_EQ(json["staleness"]["histogram"], Json({{1, 1, 1}, {4, 4, 1}}));
  EXPECT_EQ(json["ended"]["1"], "killed at \"2.5\" s");
}

TEST(Summary, WaitsForLocksArePartsOfTheWorkersTime) {
  record::RunRecord run = summary_example();  // of 10 ms
  run.ranks[0].journal.lock_waits.note(ms(2));
  run.ranks[0].journal.lock_waits.note(Duration{});
  run.ranks[1].journal.lock_waits.note(ms(1));
  const Json waits = summary(run)["lock_waits"];
  EXPECT_EQ(
      waits,
      Json({{"count", 3}, {"contended", 2}, {"seconds", 0.003}, {"fraction_per_worker", Json({0.2, 0.1})}}));
}

TEST(Summary, ADivergedRunHasNoLoss) {
  record::RunRecord run = summary_example();
  run.final_train_loss = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(summary(run).at("final_train_loss").is_null());
  EXPECT_EQ(summary(run)["diverged"], true);
  run.final_train_loss.reset();
  run.losses.push_back({at(1), 1, std::numeric_limits<double>::quiet_NaN(), {}});
  EXPECT_EQ(summary(run)["diverged"], true);
}

TEST(Summary, WallSecondsAreTheLastAndOnlyDifference) {
  const record::RunRecord run = summary_example();
  const WaitAnalysis waits = analyse_waits(run);
  Json json = Json::parse(summary_json(run, waits, 1.25));
  EXPECT_EQ(json["wall_seconds"], 1.25);
  EXPECT_EQ(std::prev(json.end()).key(), "wall_seconds");
  json.erase("wall_seconds");
  EXPECT_EQ(json, Json::parse(summary_json(run, waits)));
}

TEST(Summary, ArraysStayOnOneLine) {
  const record::RunRecord run = summary_example();
  const std::string text = summary_json(run, analyse_waits(run));
  EXPECT_NE(text.find("\n  \"steps_per_worker\": [5,6],\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  \"staleness\": {\n    \"mean\": 0.0,\n"), std::string::npos) << text;
  EXPECT_EQ(text.substr(text.size() - 3), "\n}\n");
}

}  // namespace
}  // namespace starling::record
