#include "cli/bench/bench_table.h"

#include <gtest/gtest.h>

#include "cli/bench/bench_subject.h"

namespace starling::cli {
namespace {

TableRow example() { return {{Op::kAllReduce, 1024}, 4, 10.0, 2.5, {{"mpi", 25.0}, {"gloo", std::nullopt}}}; }

TEST(BenchTable, ComparesWithPeersAndWithMemory) {
  const TableRow row = example();
  EXPECT_DOUBLE_EQ(row.ratio("mpi").value(), 2.5);
  EXPECT_FALSE(row.ratio("gloo"));
  EXPECT_FALSE(row.ratio("nobody"));
  EXPECT_DOUBLE_EQ(row.copy_bytes_per_second().value(), 2 * 4 * 1024 / 2.5e-6);
  // An all-reduce moves as much as every rank copying a vector does.
  EXPECT_DOUBLE_EQ(row.memory_share().value(), 0.25);
}

TEST(BenchTable, KnowsWhatMustMove) {
  EXPECT_EQ(bytes_that_must_move({Op::kAllReduce, 100}, 4), 800);
  EXPECT_EQ(bytes_that_must_move({Op::kBroadcast, 100}, 4), 400);
  EXPECT_EQ(bytes_that_must_move({Op::kAllGather, 100}, 4), 400);
  EXPECT_EQ(bytes_that_must_move({Op::kAllReduce, 100}, 1), 0);
}

TEST(BenchTable, NothingIsSharedByOneRank) {
  TableRow row = example();
  row.ranks = 1;
  EXPECT_FALSE(row.memory_share());
}

TEST(BenchTable, DrawsBars) {
  EXPECT_EQ(bar(std::nullopt, false), "");
  EXPECT_EQ(bar(0.3, false), "");
  EXPECT_EQ(bar(2.6, false), "###");
  EXPECT_EQ(bar(8.0, false), "########");
  EXPECT_EQ(bar(100.0, false), "#######>");
  EXPECT_EQ(bar(2.5, true), "██▌");
  EXPECT_EQ(bar(0.1, true), "▏");
  EXPECT_EQ(bar(9.0, true), "███████>");
}

TEST(BenchTable, WritesTimesAndRatios) {
  EXPECT_EQ(format_time(std::nullopt), "-");
  EXPECT_EQ(format_time(12.34), "12.3 us");
  EXPECT_EQ(format_ratio(std::nullopt), "-");
  EXPECT_EQ(format_ratio(0.256), "0.26");
  EXPECT_EQ(format_ratio(12.34), "12.3");
  EXPECT_EQ(format_ratio(1234.0), "1234");
}

TEST(BenchTable, LinesFitTheHeader) {
  std::vector<const Peer*> against;
  for (const Peer& peer : peers()) against.push_back(&peer);
  const Table table(against, false);
  EXPECT_EQ(table.line(example()),
            "allreduce     4     1k     10 us     25 us         -   2.50 ###            -             25.0%");
  EXPECT_EQ(table.line(example()).size(), table.header().size());
}

TEST(BenchTable, JsonHasEveryKey) {
  const nlohmann::ordered_json json = to_json(example());
  EXPECT_EQ(json["op"], "allreduce");
  EXPECT_EQ(json["ranks"], 4);
  EXPECT_EQ(json["bytes"], 1024);
  EXPECT_EQ(json["starling_us"], 10.0);
  EXPECT_EQ(json["mpi_us"], 25.0);
  EXPECT_EQ(json["vs_mpi"], 2.5);
  EXPECT_TRUE(json.at("gloo_us").is_null());
  EXPECT_TRUE(json.at("vs_gloo").is_null());
  EXPECT_EQ(json["memory_share"], 0.25);
}

TEST(BenchSubject, MediansAndIterations) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 3}), 3);
  EXPECT_EQ(median({9, 1, 3, 4}), 3.5);
  EXPECT_EQ(iterations_for(1e6), 1);
  EXPECT_EQ(iterations_for(75), 1000);
  EXPECT_EQ(iterations_for(0), 1'000'000);
}

}  // namespace
}  // namespace starling::cli
