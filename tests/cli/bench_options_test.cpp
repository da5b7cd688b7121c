#include "cli/bench/bench_options.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"

namespace starling::cli {
namespace {

TEST(BenchOptions, HasTheDocumentedDefaults) {
  const BenchOptions options = parse_options({});
  EXPECT_EQ(options.ranks, (std::vector<int>{2, 4, 8}));
  EXPECT_EQ(options.sizes, (std::vector<std::size_t>{1024, 65536, 1 << 20, 100 << 20}));
  EXPECT_EQ(options.ops, std::vector<Op>{Op::kAllReduce});
  ASSERT_EQ(options.against.size(), 2);
  EXPECT_EQ(options.against[0]->name, "mpi");
  EXPECT_EQ(options.against[1]->name, "gloo");
  EXPECT_EQ(options.rounds, 7);
  EXPECT_EQ(options.json, "");
}

TEST(BenchOptions, NoneMeansNoPeers) {
  BenchText text;
  text.against = "none";
  EXPECT_TRUE(parse_options(text).against.empty());
}

// Two ranks with three vectors each, and two more for a peer.
TEST(BenchOptions, CountsTheMemoryOfAllContestants) {
  BenchText text;
  text.ranks = "1,2";
  text.sizes = "1m,1k";
  text.against = "mpi";
  const BenchOptions options = parse_options(text);
  EXPECT_NO_THROW(check_memory(options, 10 << 20));
  EXPECT_THROW(check_memory(options, (10 << 20) - 1), InvalidArgument);
}

}  // namespace
}  // namespace starling::cli
